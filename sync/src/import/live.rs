//! Reading a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, ListParams, TypeMeta};
use kube::{Api, Client};
use tokio::time::timeout;

use super::inventory::Inventory;
use super::pods::{PodFacts, PodName, Pods};
use crate::crd::{
    IpPool, NetworkAttachmentDefinition, NodeSlicePool, OverlappingRangeIpReservation,
};
use crate::project::{WriteError, read_error};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// A read of the cluster that failed: nothing is imported then, because half of what is there
/// would look inconsistent.
#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be read: {1}; nothing was imported")]
pub struct LiveError(String, WriteError);

impl LiveError {
    /// A fixed word for tests and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.1.kind()
    }
}

/// Reads everything that an import looks at. The objects are those of one namespace, or of all.
///
/// # Errors
/// Something cannot be read. Kinds that the cluster does not define are no error, except for
/// `IPPool`: without it there is nothing to import.
pub async fn read_cluster(
    client: &Client,
    namespace: Option<&str>,
) -> Result<Inventory, LiveError> {
    let mut inventory = Inventory::default();
    let own = [
        (ApiResource::erase::<IpPool>(&()), true),
        (
            ApiResource::erase::<OverlappingRangeIpReservation>(&()),
            false,
        ),
        (ApiResource::erase::<NodeSlicePool>(&()), false),
    ];
    for (resource, is_needed) in own {
        let api = match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        read_all(&api, &resource, is_needed, |object| {
            inventory.add(object, "cluster");
        })
        .await?;
    }
    let elsewhere = [
        (
            ApiResource::erase::<NetworkAttachmentDefinition>(&()),
            false,
        ),
        (
            ApiResource::erase::<k8s_openapi::api::core::v1::Node>(&()),
            true,
        ),
        (
            ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&()),
            true,
        ),
    ];
    inventory.pods = Pods::Known(BTreeMap::new());
    for (resource, is_needed) in elsewhere {
        let api = Api::all_with(client.clone(), &resource);
        read_all(&api, &resource, is_needed, |object| {
            inventory.add(object, "cluster");
        })
        .await?;
    }
    look_for_absent(client, &mut inventory).await?;
    Ok(inventory)
}

async fn read_all(
    api: &Api<DynamicObject>,
    resource: &ApiResource,
    is_needed: bool,
    mut take: impl FnMut(DynamicObject),
) -> Result<(), LiveError> {
    let mut parameters = ListParams::default().limit(PAGE);
    let failed = |error| LiveError(format!("{} objects", resource.kind), error);
    loop {
        let page = timeout(PATIENCE, api.list(&parameters)).await;
        let page = match page
            .map_err(|_| WriteError::Late)
            .and_then(|page| page.map_err(read_error))
        {
            Ok(page) => page,
            Err(WriteError::NotDefined) if !is_needed => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        for mut object in page.items {
            // Items of a list do not say what they are.
            object.types = Some(TypeMeta {
                api_version: resource.api_version.clone(),
                kind: resource.kind.clone(),
            });
            take(object);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            None => return Ok(()),
            Some(token) => parameters = parameters.continue_token(&token),
        }
    }
}

/// A pod that a list did not show is asked for by name: not being in a list is no evidence.
async fn look_for_absent(client: &Client, inventory: &mut Inventory) -> Result<(), LiveError> {
    let Pods::Known(pods) = &mut inventory.pods else {
        return Ok(());
    };
    let named = named_pods(inventory.pools.values().map(|source| &source.object)).chain(
        named_pods(inventory.reservations.values().map(|source| &source.object)),
    );
    let absent: BTreeSet<PodName> = named.filter(|name| !pods.contains_key(name)).collect();
    let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Pod>(&());
    for name in absent {
        let api: Api<DynamicObject> =
            Api::namespaced_with(client.clone(), &name.namespace, &resource);
        let found = timeout(PATIENCE, api.get_opt(&name.name)).await;
        let found = found
            .map_err(|_| WriteError::Late)
            .and_then(|found| found.map_err(read_error));
        let failed = |error| LiveError(format!("pod {}/{}", name.namespace, name.name), error);
        if let Some(pod) = found.map_err(failed)? {
            pods.insert(name.clone(), PodFacts::read(&pod));
        }
    }
    Ok(())
}

fn named_pods<'a>(
    objects: impl Iterator<Item = &'a DynamicObject> + 'a,
) -> impl Iterator<Item = PodName> + 'a {
    objects.flat_map(|object| {
        let spec = &object.data["spec"];
        let entries = spec["allocations"].as_object();
        let entries = entries.into_iter().flat_map(|entries| entries.values());
        entries.chain([spec]).filter_map(|entry| {
            let (namespace, name) = entry["podref"].as_str()?.split_once('/')?;
            (!namespace.is_empty() && !name.is_empty()).then(|| PodName {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            })
        })
    })
}
