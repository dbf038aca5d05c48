//! The custom resources of `deploy/crds`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, ResourceExt};

use super::Cluster;
use crate::Error;

/// Time until the API server serves a new kind.
const BOUND: Duration = Duration::from_secs(30);

impl Cluster {
    /// Installs every definition of `deploy/crds` and waits until it is served. Again is no error.
    ///
    /// # Errors
    /// [`Error::Kube`], [`Error::Manifest`].
    pub async fn install_crds(&self) -> Result<(), Error> {
        let client = self.client().await?;
        for path in files()? {
            install(&client, &read(&path)?).await?;
        }
        Ok(())
    }
}

fn files() -> Result<Vec<PathBuf>, Error> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds");
    let entries = fs::read_dir(&dir).map_err(Error::io("list", &dir))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    paths.map_err(Error::io("list", &dir))
}

fn read(path: &Path) -> Result<CustomResourceDefinition, Error> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    serde_saphyr::from_str(&text).map_err(|error| Error::Manifest {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

async fn install(
    client: &kube::Client,
    definition: &CustomResourceDefinition,
) -> Result<(), Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let name = definition.name_any();
    let action = || format!("install {name}");
    let by_us = PatchParams::apply("test-cluster").force();
    definitions
        .patch(&name, &by_us, &Patch::Apply(definition))
        .await
        .map_err(Error::kube(action()))?;
    let established = await_condition(definitions, &name, conditions::is_crd_established());
    match tokio::time::timeout(BOUND, established).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Error::Manifest {
            path: PathBuf::from(name),
            reason: error.to_string(),
        }),
        Err(_) => Err(Error::Manifest {
            path: PathBuf::from(name),
            reason: format!("not served within {} s", BOUND.as_secs()),
        }),
    }
}
