//! Reads and writes of the objects themselves.

use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, Preconditions,
};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use tokio::time::timeout;

use super::body::FIELD_MANAGER;
use super::plan::{Action, ObjectWrite};
use super::{ObjectKey, ObjectKind};
use crate::crd::{IpPool, OverlappingRangeIpReservation};

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// Reads and writes the objects of one namespace.
#[derive(Clone)]
pub struct Writer {
    namespace: String,
    pools: Api<DynamicObject>,
    reservations: Api<DynamicObject>,
}

/// What came of a write.
#[derive(Debug)]
pub enum Written {
    /// The object as it is stored now.
    Stored(Box<DynamicObject>),
    /// It is not there any more.
    Gone,
    /// Somebody was faster; nothing was written. The object as it is stored now, if it is.
    Overtaken(Option<Box<DynamicObject>>),
}

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The API server did not answer in time.
    #[error("no answer within 30 s")]
    Late,
    /// A right is missing.
    #[error("the right is missing: {0}; see deploy/rbac")]
    Forbidden(String),
    /// The kind is not defined in the cluster.
    #[error("the kind is not defined in this cluster; apply deploy/crds")]
    NotDefined,
    /// The object is too large for etcd.
    #[error("the object is too large: {0}")]
    TooLarge(String),
    /// It is not valid there; a definition of the kind that is not ours may be why.
    #[error("the API server refuses it: {0} (deploy/crds has the definitions)")]
    Invalid(String),
    /// Anything else.
    #[error(transparent)]
    Other(Box<kube::Error>),
}

impl WriteError {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            WriteError::Late => "late",
            WriteError::Forbidden(_) => "forbidden",
            WriteError::NotDefined => "not_defined",
            WriteError::TooLarge(_) => "too_large",
            WriteError::Invalid(_) => "invalid",
            WriteError::Other(_) => "api_server",
        }
    }
}

/// What a failed request of the API server comes to.
pub(crate) fn read_error(error: kube::Error) -> WriteError {
    let kube::Error::Api(status) = &error else {
        return WriteError::Other(Box::new(error));
    };
    let message = status.message.clone();
    match status.code {
        403 => WriteError::Forbidden(message),
        404 => WriteError::NotDefined,
        422 => WriteError::Invalid(message),
        413 => WriteError::TooLarge(message),
        _ if message.contains("too large") => WriteError::TooLarge(message),
        _ => WriteError::Other(Box::new(error)),
    }
}

/// Whether the API server refused a write because the object is another one by now.
fn was_overtaken(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

fn is_missing(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// The resource of a kind, to be read whatever shape its objects have.
#[must_use]
pub fn resource(kind: ObjectKind) -> ApiResource {
    match kind {
        ObjectKind::Pool => ApiResource::erase::<IpPool>(&()),
        ObjectKind::Reservation => ApiResource::erase::<OverlappingRangeIpReservation>(&()),
    }
}

impl Writer {
    /// For the objects of one namespace.
    #[must_use]
    pub fn new(client: &Client, namespace: &str) -> Writer {
        let api = |kind| Api::namespaced_with(client.clone(), namespace, &resource(kind));
        Writer {
            namespace: namespace.to_owned(),
            pools: api(ObjectKind::Pool),
            reservations: api(ObjectKind::Reservation),
        }
    }

    /// The namespace of the objects.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    fn api(&self, kind: ObjectKind) -> &Api<DynamicObject> {
        match kind {
            ObjectKind::Pool => &self.pools,
            ObjectKind::Reservation => &self.reservations,
        }
    }

    /// Every change of the objects of a kind, beginning with all of them. After an error it goes
    /// on by itself.
    pub fn watch(
        &self,
        kind: ObjectKind,
    ) -> impl Stream<Item = (ObjectKind, watcher::Result<watcher::Event<DynamicObject>>)> + use<>
    {
        let config = watcher::Config::default().page_size(PAGE);
        watcher(self.api(kind).clone(), config)
            .default_backoff()
            .map(move |event| (kind, event))
    }

    /// All objects of a kind, page by page.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn list(
        &self,
        kind: ObjectKind,
        mut take: impl FnMut(DynamicObject),
    ) -> Result<(), WriteError> {
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let page = timeout(PATIENCE, self.api(kind).list(&parameters)).await;
            let page = page.map_err(|_| WriteError::Late)?.map_err(read_error)?;
            page.items.into_iter().for_each(&mut take);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                None => return Ok(()),
                Some(token) => parameters = parameters.continue_token(&token),
            }
        }
    }

    /// Makes one write. What was planned for another version of the object is refused by the API
    /// server and is [`Written::Overtaken`].
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write(&self, write: &ObjectWrite<'_>) -> Result<Written, WriteError> {
        timeout(PATIENCE, self.try_write(write))
            .await
            .map_err(|_| WriteError::Late)?
    }

    /// The write beside its outcome.
    pub(super) async fn write_and_name<'w, 'd>(
        &self,
        write: &'w ObjectWrite<'d>,
    ) -> (&'w ObjectWrite<'d>, Result<Written, WriteError>) {
        (write, self.write(write).await)
    }

    async fn try_write(&self, write: &ObjectWrite<'_>) -> Result<Written, WriteError> {
        let api = self.api(write.key.kind);
        let name = write.key.name.as_str();
        let body = write.body(&self.namespace).unwrap_or_default();
        let result = match &write.action {
            Action::Apply(_) => {
                let parameters = PatchParams::apply(FIELD_MANAGER).force();
                api.patch(name, &parameters, &Patch::Apply(&body)).await
            }
            Action::Remove(_) => {
                let parameters = PatchParams {
                    field_manager: Some(FIELD_MANAGER.to_owned()),
                    ..PatchParams::default()
                };
                api.patch(name, &parameters, &Patch::Merge(&body)).await
            }
            Action::Delete => return self.delete(write).await,
        };
        match result {
            Ok(object) => Ok(Written::Stored(Box::new(object))),
            Err(error) if was_overtaken(&error) => self.look(&write.key).await,
            // What is to be changed is gone, or the whole kind is.
            Err(error) if is_missing(&error) && write.guard.is_some() => {
                self.look(&write.key).await
            }
            Err(error) => Err(read_error(error)),
        }
    }

    async fn delete(&self, write: &ObjectWrite<'_>) -> Result<Written, WriteError> {
        let guard = write.guard.as_ref();
        let parameters = DeleteParams {
            preconditions: guard.map(|guard| Preconditions {
                uid: Some(guard.uid.clone()),
                resource_version: Some(guard.resource_version.clone()),
            }),
            ..DeleteParams::default()
        };
        let api = self.api(write.key.kind);
        match api.delete(&write.key.name, &parameters).await {
            Ok(_) => Ok(Written::Gone),
            Err(error) if is_missing(&error) => Ok(Written::Gone),
            Err(error) if was_overtaken(&error) => self.look(&write.key).await,
            Err(error) => Err(read_error(error)),
        }
    }

    async fn look(&self, key: &ObjectKey) -> Result<Written, WriteError> {
        let object = self.api(key.kind).get_opt(&key.name).await;
        let object = object.map_err(read_error)?;
        Ok(Written::Overtaken(object.map(Box::new)))
    }
}
