//! The definitions of these kinds, as objects and as files for `kubectl apply`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion,
};
use kube::CustomResourceExt;

use super::{IpPool, NetworkAttachmentDefinition, NodeSlicePool, OverlappingRangeIpReservation};

/// Stands at the top of every file.
const HEADER: &str = "# Written by `make crds` from the types in sync/src/crd.\n";

/// One file of `deploy/crds`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// `<group>_<plural>.yaml`.
    pub file_name: String,
    /// What the file holds.
    pub yaml: String,
}

/// A definition that has no form in YAML.
#[derive(Debug, thiserror::Error)]
#[error("definition {name} as YAML: {source}")]
pub struct ManifestError {
    name: String,
    source: serde_saphyr::SerializeError,
}

impl ManifestError {
    /// A stable word for the kind of error, for logs and tests.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        "manifest"
    }
}

/// The definitions of all four kinds. Use these and not `IpPool::crd()` and its like: whereabouts'
/// and Multus' own differ from what can be derived.
#[must_use]
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![
        spec_optional(IpPool::crd()),
        OverlappingRangeIpReservation::crd(),
        status_with_the_object(spec_optional(NodeSlicePool::crd())),
        spec_optional(NetworkAttachmentDefinition::crd()),
    ]
}

/// The files of `deploy/crds`.
///
/// # Errors
/// A definition could not be written as YAML.
pub fn manifests() -> Result<Vec<Manifest>, ManifestError> {
    definitions().iter().map(manifest).collect()
}

fn manifest(definition: &CustomResourceDefinition) -> Result<Manifest, ManifestError> {
    let spec = &definition.spec;
    let file_name = format!("{}_{}.yaml", spec.group, spec.names.plural);
    let yaml = serde_saphyr::to_string(definition).map_err(|source| ManifestError {
        name: file_name.clone(),
        source,
    })?;
    Ok(Manifest {
        file_name,
        yaml: format!("{HEADER}{yaml}"),
    })
}

/// Whoever creates an object without a spec is let in, as by the definitions that we stand for.
fn spec_optional(definition: CustomResourceDefinition) -> CustomResourceDefinition {
    each_version(definition, |version| {
        let schema = version.schema.as_mut();
        if let Some(root) = schema.and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            root.required = None;
        }
    })
}

/// With a status subresource the API server would drop a status that comes with the object,
/// which is how it is written here.
fn status_with_the_object(definition: CustomResourceDefinition) -> CustomResourceDefinition {
    each_version(definition, |version| version.subresources = None)
}

fn each_version(
    mut definition: CustomResourceDefinition,
    change: impl FnMut(&mut CustomResourceDefinitionVersion),
) -> CustomResourceDefinition {
    definition.spec.versions.iter_mut().for_each(change);
    definition
}
