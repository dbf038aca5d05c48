//! What the API server stores, read with patience: objects that others wrote may have any shape.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::DynamicObject;
use serde_json::{Map, Value};

use super::body::{CONTENT_ANNOTATION, FIELD_MANAGER, OMITTED_ANNOTATION, POSITION_ANNOTATION};
use super::{ObjectKey, ObjectKind};

/// One object as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// UID; another one means that it was deleted and made again.
    pub uid: String,
    /// Every write names it, so that nothing is written over what was not seen.
    pub resource_version: String,
    /// Digest that was written beside the content; absent if this program never wrote the object.
    pub digest: Option<String>,
    /// How many holds the object says that it does not show.
    pub omitted: usize,
    /// Who wrote to it last, apart from this program.
    pub edited_by: Option<String>,
    /// Keys of entries of which another manager owns a part. A server-side apply that leaves one
    /// of them out would leave that part behind, and the API server refuses half an entry.
    pub shared: BTreeSet<String>,
    /// What it contains.
    pub content: StoredContent,
}

/// What an object contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoredContent {
    /// An `IPPool`.
    Pool {
        /// `spec.range`.
        range: Option<String>,
        /// `spec.allocations`, with whatever keys there are.
        entries: BTreeMap<String, StoredEntry>,
    },
    /// An `OverlappingRangeIPReservation`; `id` is its `containerid`.
    Reservation(StoredEntry),
    /// Its shape is foreign; says what cannot be read.
    Unreadable(String),
}

/// An entry, with whatever fields there are. A field that is no text counts as its JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredEntry {
    /// The sandbox.
    pub id: Option<String>,
    /// `namespace/name` of the pod.
    pub podref: Option<String>,
    /// The interface.
    pub ifname: Option<String>,
}

impl Stored {
    /// Reads an object. This never fails; what has no sense is [`StoredContent::Unreadable`].
    #[must_use]
    pub fn read(kind: ObjectKind, object: &DynamicObject) -> Stored {
        let metadata = &object.metadata;
        let annotation = |key: &str| metadata.annotations.as_ref()?.get(key).cloned();
        let managers = metadata.managed_fields.as_deref().unwrap_or_default();
        Stored {
            uid: metadata.uid.clone().unwrap_or_default(),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            digest: annotation(CONTENT_ANNOTATION)
                .filter(|_| annotation(POSITION_ANNOTATION).is_some()),
            omitted: annotation(OMITTED_ANNOTATION)
                .and_then(|text| text.split(' ').next()?.parse().ok())
                .unwrap_or(0),
            edited_by: last_other_manager(managers),
            shared: others(managers).flat_map(owned_entries).collect(),
            content: read_content(kind, object.data.get("spec")),
        }
    }
}

/// Key of an object, by its kind and metadata.
#[must_use]
pub fn key_of(kind: ObjectKind, object: &DynamicObject) -> ObjectKey {
    ObjectKey {
        kind,
        name: object.metadata.name.clone().unwrap_or_default(),
    }
}

fn others(managers: &[ManagedFieldsEntry]) -> impl Iterator<Item = &ManagedFieldsEntry> {
    managers
        .iter()
        .filter(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER))
}

fn last_other_manager(managers: &[ManagedFieldsEntry]) -> Option<String> {
    let last = others(managers).max_by_key(|entry| entry.time.as_ref().map(|time| time.0))?;
    last.manager.clone()
}

/// Keys of the entries of a pool that a manager owns a part of: `f:spec`, `f:allocations`, `f:<key>`.
fn owned_entries(manager: &ManagedFieldsEntry) -> Vec<String> {
    let fields = manager.fields_v1.as_ref().map(|fields| &fields.0);
    let entries = fields.and_then(|fields| fields.get("f:spec")?.get("f:allocations")?.as_object());
    let keys = entries.into_iter().flat_map(Map::keys);
    keys.filter_map(|key| key.strip_prefix("f:").map(str::to_owned))
        .collect()
}

fn read_content(kind: ObjectKind, spec: Option<&Value>) -> StoredContent {
    let nothing = Map::new();
    let spec = match spec {
        None | Some(Value::Null) => &nothing,
        Some(Value::Object(spec)) => spec,
        Some(other) => return StoredContent::Unreadable(format!("spec is {}", shape(other))),
    };
    match kind {
        ObjectKind::Reservation => StoredContent::Reservation(read_entry(spec, "containerid")),
        ObjectKind::Pool => read_pool(spec),
    }
}

fn read_pool(spec: &Map<String, Value>) -> StoredContent {
    let range = match spec.get("range") {
        None | Some(Value::Null) => None,
        Some(Value::String(range)) => Some(range.clone()),
        Some(other) => {
            return StoredContent::Unreadable(format!("spec.range is {}", shape(other)));
        }
    };
    let entries = match spec.get("allocations") {
        None | Some(Value::Null) => BTreeMap::new(),
        Some(Value::Object(entries)) => entries
            .iter()
            .map(|(key, value)| {
                let entry = value.as_object().map(|entry| read_entry(entry, "id"));
                (key.clone(), entry.unwrap_or_default())
            })
            .collect(),
        Some(other) => {
            return StoredContent::Unreadable(format!("spec.allocations is {}", shape(other)));
        }
    };
    StoredContent::Pool { range, entries }
}

fn read_entry(fields: &Map<String, Value>, id_name: &str) -> StoredEntry {
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    };
    StoredEntry {
        id: text(id_name),
        podref: text("podref"),
        ifname: text("ifname"),
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
