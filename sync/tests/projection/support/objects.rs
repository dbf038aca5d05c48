//! The objects of one namespace, as an administrator sees them.

use std::collections::BTreeMap;

use ipledger_sync::project::{ObjectKind, resource};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// One namespace.
pub(crate) struct Objects {
    pub(crate) namespace: String,
    client: Client,
}

impl Objects {
    pub(crate) fn new(client: &Client, namespace: &str) -> Objects {
        Objects {
            namespace: namespace.to_owned(),
            client: client.clone(),
        }
    }

    pub(crate) fn api(&self, kind: ObjectKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource(kind))
    }

    pub(crate) async fn all(&self, kind: ObjectKind) -> Vec<DynamicObject> {
        let listed = self.api(kind).list(&ListParams::default()).await;
        listed.unwrap().items
    }

    /// `spec` by name.
    pub(crate) async fn specs(&self, kind: ObjectKind) -> BTreeMap<String, Value> {
        let objects = self.all(kind).await.into_iter();
        let named = objects.map(|object| {
            let name = object.metadata.name.clone().unwrap();
            (name, object.data["spec"].clone())
        });
        named.collect()
    }

    /// Keys of a pool's entries and their pods; nothing if there is no such pool.
    pub(crate) async fn entries(&self, pool: &str) -> BTreeMap<String, String> {
        let found = self.api(ObjectKind::Pool).get_opt(pool).await.unwrap();
        let spec = found.map(|pool| pool.data["spec"].clone());
        spec.as_ref().map(entries_of).unwrap_or_default()
    }

    /// Name and pod of each reservation.
    pub(crate) async fn reservations(&self) -> BTreeMap<String, String> {
        let specs = self.specs(ObjectKind::Reservation).await.into_iter();
        let podrefs = specs.map(|(name, spec)| (name, spec["podref"].as_str().unwrap().to_owned()));
        podrefs.collect()
    }

    /// Resource versions, by kind and name.
    pub(crate) async fn versions(&self) -> BTreeMap<(ObjectKind, String), String> {
        let mut versions = BTreeMap::new();
        for kind in [ObjectKind::Pool, ObjectKind::Reservation] {
            for object in self.all(kind).await {
                let name = object.metadata.name.clone().unwrap();
                let version = object.metadata.resource_version.clone().unwrap();
                versions.insert((kind, name), version);
            }
        }
        versions
    }

    /// A merge patch, as `kubectl patch` sends it.
    pub(crate) async fn patch(&self, kind: ObjectKind, name: &str, change: Value) {
        let parameters = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let (api, change) = (self.api(kind), Patch::Merge(change));
        api.patch(name, &parameters, &change).await.unwrap();
    }

    pub(crate) async fn delete(&self, kind: ObjectKind, name: &str) {
        let deleted = self.api(kind).delete(name, &DeleteParams::default()).await;
        deleted.unwrap();
    }

    /// As another manager makes it.
    pub(crate) async fn create(&self, kind: ObjectKind, name: &str, spec: Value) {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
            "kind": kind.as_str(),
            "metadata": { "name": name },
            "spec": spec,
        }))
        .unwrap();
        let parameters = PostParams {
            field_manager: Some("whereabouts".to_owned()),
            ..PostParams::default()
        };
        self.api(kind).create(&parameters, &object).await.unwrap();
    }

    /// Notes of the Events on an object.
    pub(crate) async fn notes(&self, kind: ObjectKind, name: &str) -> Vec<(String, String)> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &self.namespace);
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = events.items.into_iter().filter(|event| {
            event.regarding.as_ref().is_some_and(|object| {
                object.kind.as_deref() == Some(kind.as_str())
                    && object.name.as_deref() == Some(name)
            })
        });
        let told = about.map(|event| {
            let text = |text: Option<String>| text.unwrap_or_default();
            (text(event.reason), text(event.note))
        });
        told.collect()
    }
}

/// Keys of a pool's entries and their pods.
pub(crate) fn entries_of(spec: &Value) -> BTreeMap<String, String> {
    let entries = spec["allocations"].as_object();
    let entries = entries.into_iter().flatten();
    let podrefs = entries.map(|(key, entry)| {
        let podref = entry["podref"].as_str().unwrap_or_default();
        (key.clone(), podref.to_owned())
    });
    podrefs.collect()
}
