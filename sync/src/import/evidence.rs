//! What an imported hold rests on.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::inventory::SourceObject;
use super::pods::PodFacts;

/// Where a hold was read, complete enough to be judged later.
pub(super) struct Source<'a> {
    pub(super) object: &'a SourceObject,
    pub(super) key: Option<&'a str>,
    pub(super) reservation: Option<&'a SourceObject>,
    /// The living pod that its node and UID were inferred from.
    pub(super) pod: Option<&'a PodFacts>,
    /// Container id made up, because a reservation has none.
    pub(super) container_id_inferred: bool,
    pub(super) read_at: Timestamp,
}

impl Source<'_> {
    /// The object, and the key in it.
    pub(super) fn label(&self) -> String {
        match self.key {
            Some(key) => format!("{} {key}", self.object.label()),
            None => self.object.label(),
        }
    }

    pub(super) fn evidence(&self) -> Map<String, Value> {
        let mut evidence = Map::new();
        let mut put = |key: &str, value: Value| evidence.insert(key.to_owned(), value);
        put("source", "whereabouts".into());
        put("read_from", self.object.read_from.clone().into());
        put("read_at", format!("{:.3}", self.read_at).into());
        put("object", reference(self.object));
        if let Some(key) = self.key {
            put("key", key.into());
        }
        if let Some(reservation) = self.reservation {
            put("reservation", reference(reservation));
        }
        let mut inferred: Vec<&str> = Vec::new();
        if self.container_id_inferred {
            inferred.push("attachment.container_id");
        }
        if let Some(pod) = self.pod {
            inferred.push("owner.uid");
            inferred.extend(pod.node.as_ref().map(|_| "owner.node"));
            let mut read = json!({ "uid": pod.uid, "resource_version": pod.resource_version });
            if let Some(node) = &pod.node {
                read["node"] = node.clone().into();
            }
            put("pod", read);
        }
        if !inferred.is_empty() {
            put("inferred", inferred.into());
        }
        evidence
    }
}

fn reference(source: &SourceObject) -> Value {
    let metadata = &source.object.metadata;
    let mut value = json!({ "name": source.label() });
    // An object that was written by hand has neither.
    if let Some(uid) = &metadata.uid {
        value["uid"] = uid.clone().into();
    }
    if let Some(version) = &metadata.resource_version {
        value["resource_version"] = version.clone().into();
    }
    value
}
