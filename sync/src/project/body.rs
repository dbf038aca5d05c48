//! The bodies of writes, as JSON.

use serde_json::{Map, Value, json};

use super::content::{Content, Entry};
use super::render::{DesiredObject, Position};
use super::{ObjectKey, ObjectKind};

/// Manager of all fields that this program applies.
pub const FIELD_MANAGER: &str = "ipledger-sync";
/// Says how fresh an object is: `{"as_of":{"<space>":<seq>},"epoch":1,"read_at":"..."}`.
pub const POSITION_ANNOTATION: &str = "ipledger/position";
/// Digest of the content as it was written. It tells a foreign edit from the ledger moving on.
pub const CONTENT_ANNOTATION: &str = "ipledger/content";
/// How many holds of the pool the object does not show, because they do not fit.
pub const OMITTED_ANNOTATION: &str = "ipledger/omitted";

/// Group and version of both kinds.
pub(super) const API_VERSION: &str = "whereabouts.cni.cncf.io/v1alpha1";

/// Body of a server-side apply: exactly the fields that are to be ours. With a resource version
/// the API server refuses it if the object has changed since.
pub(super) fn apply(
    namespace: &str,
    key: &ObjectKey,
    object: &DesiredObject<'_>,
    resource_version: Option<&str>,
) -> Value {
    let content = Content::desired(object);
    let mut annotations = Map::new();
    let mut annotate = |key: &str, value: String| annotations.insert(key.to_owned(), value.into());
    annotate(CONTENT_ANNOTATION, content.digest());
    annotate(POSITION_ANNOTATION, position(object.position()));
    if let DesiredObject::Pool(pool) = object
        && pool.omitted > 0
    {
        let all = pool.omitted + pool.entries.len();
        let text = format!(
            "{} of {all} holds do not fit one object; their reservations and the ledger have them",
            pool.omitted
        );
        annotate(OMITTED_ANNOTATION, text);
    }
    let mut metadata = json!({
        "name": key.name,
        "namespace": namespace,
        "annotations": annotations,
    });
    if let Some(resource_version) = resource_version {
        metadata["resourceVersion"] = resource_version.into();
    }
    json!({
        "apiVersion": API_VERSION,
        "kind": key.kind.as_str(),
        "metadata": metadata,
        "spec": spec(&content),
    })
}

fn position(position: &Position) -> String {
    let mut value = json!({ "as_of": position.as_of });
    if let Some(epoch) = position.epoch {
        value["epoch"] = epoch.into();
    }
    value["read_at"] = format!("{:.3}", position.read_at).into();
    value.to_string()
}

fn spec(content: &Content<'_>) -> Value {
    match content {
        Content::Reservation(spec) => entry(spec, "containerid"),
        Content::Pool { range, entries } => {
            let allocations: Map<String, Value> = entries
                .iter()
                .map(|(key, value)| ((*key).to_owned(), entry(value, "id")))
                .collect();
            json!({ "range": range, "allocations": allocations })
        }
    }
}

fn entry(entry: &Entry<'_>, id_name: &'static str) -> Value {
    let fields = entry.fields(id_name).into_iter();
    let present = fields.filter_map(|(name, text)| Some((name.to_owned(), text?.into())));
    Value::Object(present.collect())
}

/// Something that is stored and not wanted, and that an apply leaves alone because another manager
/// owns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Surplus {
    /// A whole entry of a pool, by its key.
    Entry(String),
    /// One field of an entry that is otherwise right: key, field.
    EntryField(String, &'static str),
    /// One field of a reservation.
    Field(&'static str),
}

/// Body of a JSON merge patch that takes these out and nothing else.
pub(super) fn removal(kind: ObjectKind, surplus: &[Surplus], resource_version: &str) -> Value {
    let (mut spec, mut entries) = (Map::new(), Map::new());
    for item in surplus {
        match item {
            Surplus::Entry(key) => {
                entries.insert(key.clone(), Value::Null);
            }
            Surplus::EntryField(key, field) => {
                let fields = entries.entry(key.clone()).or_insert_with(|| json!({}));
                fields[*field] = Value::Null;
            }
            Surplus::Field(field) => {
                spec.insert((*field).to_owned(), Value::Null);
            }
        }
    }
    if kind == ObjectKind::Pool {
        spec.insert("allocations".to_owned(), Value::Object(entries));
    }
    json!({ "metadata": { "resourceVersion": resource_version }, "spec": spec })
}
