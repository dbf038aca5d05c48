//! A store that takes writes as the API server does, as far as plans depend on it: server-side
//! apply sets what is applied, drops what only this manager owned, and leaves the rest.

use std::collections::{BTreeMap, BTreeSet};

use ipledger_sync::project::{Action, ObjectKey, ObjectKind, Plan, Stored, StoredObjects};
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};

/// Paths of leaves, such as `allocations/30/id`.
type Leaves = BTreeMap<String, String>;

#[derive(Debug, Clone, Default)]
struct Object {
    leaves: Leaves,
    /// Leaves that the applying manager owns, and leaves that another one owns.
    ours: BTreeSet<String>,
    others: BTreeSet<String>,
    annotations: Map<String, Value>,
    version: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Store {
    objects: BTreeMap<ObjectKey, Object>,
    pub(super) writes: usize,
}

impl Store {
    /// Another manager puts one leaf, making the object if needed; or takes one out.
    pub(super) fn edit(&mut self, key: &ObjectKey, leaf: &str, value: Option<&str>) {
        let object = self.objects.entry(key.clone()).or_default();
        object.version += 1;
        match value {
            Some(value) => {
                object.leaves.insert(leaf.to_owned(), value.to_owned());
                object.others.insert(leaf.to_owned());
                object.ours.remove(leaf);
            }
            None => {
                let below = format!("{leaf}/");
                let taken = |path: &String| path == leaf || path.starts_with(&below);
                object.leaves.retain(|path, _| !taken(path));
                object.ours.retain(|path| !taken(path));
                object.others.retain(|path| !taken(path));
            }
        }
    }

    /// Another manager adds a whole entry to a pool.
    pub(super) fn add_entry(&mut self, key: &ObjectKey, entry: &str, podref: &str) {
        let leaf = |field: &str| format!("allocations/{entry}/{field}");
        self.edit(key, &leaf("id"), Some("foreign"));
        self.edit(key, &leaf("podref"), Some(podref));
    }

    pub(super) fn has_entry(&self, key: &ObjectKey, entry: &str) -> bool {
        let leaf = format!("allocations/{entry}/podref");
        let object = self.objects.get(key);
        object.is_some_and(|object| object.leaves.contains_key(&leaf))
    }

    /// Another manager has every leaf too, as after an import of objects that it wrote.
    pub(super) fn share(&mut self) {
        for object in self.objects.values_mut() {
            object.others = object.leaves.keys().cloned().collect();
        }
    }

    /// Another manager takes the annotations away.
    pub(super) fn strip(&mut self, key: &ObjectKey) {
        if let Some(object) = self.objects.get_mut(key) {
            object.annotations.clear();
            object.version += 1;
        }
    }

    pub(super) fn delete(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
    }

    /// Carries a plan out, in its order.
    pub(super) fn carry_out(&mut self, plan: &Plan<'_>) {
        for write in &plan.writes {
            self.writes += 1;
            let version = self
                .objects
                .get(&write.key)
                .map(|object| object.version.to_string());
            let guard = write
                .guard
                .as_ref()
                .map(|guard| guard.resource_version.clone());
            assert_eq!(guard, version, "planned for what is stored");
            match &write.action {
                Action::Delete => {
                    self.objects.remove(&write.key);
                }
                Action::Apply(_) => self.apply(&write.key, &write.body("kube-system").unwrap()),
                Action::Remove(_) => self.patch(&write.key, &write.body("kube-system").unwrap()),
            }
        }
    }

    fn apply(&mut self, key: &ObjectKey, body: &Value) {
        let object = self.objects.entry(key.clone()).or_default();
        object.version += 1;
        let mut applied = Leaves::new();
        flatten("", &body["spec"], &mut applied);
        let dropped: Vec<String> = object
            .ours
            .iter()
            .filter(|leaf| !applied.contains_key(*leaf) && !object.others.contains(*leaf))
            .cloned()
            .collect();
        let is_entry = |leaf: &String| leaf.starts_with("allocations/");
        let had_entries = object.leaves.keys().any(is_entry);
        for leaf in dropped {
            object.leaves.remove(&leaf);
        }
        let stays = |leaf: &String| is_entry(leaf) && object.leaves.contains_key(leaf);
        let has_entries = applied.keys().any(is_entry) || object.leaves.keys().any(stays);
        assert!(
            has_entries || !had_entries,
            "the API server makes a null of a map whose last entry an apply takes out"
        );
        for (leaf, value) in &applied {
            if object.leaves.get(leaf) != Some(value) {
                object.others.remove(leaf);
            }
            object.leaves.insert(leaf.clone(), value.clone());
        }
        object.assert_whole_entries();
        object.ours = applied.into_keys().collect();
        let annotations = body["metadata"]["annotations"].as_object();
        object.annotations = annotations.unwrap().clone();
    }

    fn patch(&mut self, key: &ObjectKey, body: &Value) {
        let mut nulls = Vec::new();
        null_paths("", &body["spec"], &mut nulls);
        for path in nulls {
            self.edit(key, &path, None);
        }
    }

    /// What a watch would have shown.
    pub(super) fn stored(&self) -> StoredObjects {
        let read = |(key, object): (&ObjectKey, &Object)| {
            (key.clone(), Stored::read(key.kind, &object.show(key)))
        };
        self.objects.iter().map(read).collect()
    }
}

impl Object {
    /// The definition of IPPool asks for these fields of every entry.
    fn assert_whole_entries(&self) {
        for leaf in self.leaves.keys() {
            let Some(entry) = leaf.strip_prefix("allocations/") else {
                continue;
            };
            let (entry, _) = entry.split_once('/').unwrap();
            for field in ["id", "podref"] {
                let needed = format!("allocations/{entry}/{field}");
                assert!(self.leaves.contains_key(&needed), "{needed} is missing");
            }
        }
    }

    /// What the other manager owns, as the API server shows it.
    fn others_fields(&self) -> Value {
        let mut fields = json!({});
        for leaf in &self.others {
            let mut place = &mut fields["f:spec"];
            for part in leaf.split('/') {
                place = &mut place[format!("f:{part}")];
            }
            *place = json!({});
        }
        fields
    }

    fn show(&self, key: &ObjectKey) -> DynamicObject {
        let mut spec = json!({});
        if key.kind == ObjectKind::Pool {
            spec["allocations"] = json!({});
        }
        for (path, value) in &self.leaves {
            let mut place = &mut spec;
            for part in path.split('/') {
                place = &mut place[part];
            }
            *place = value.clone().into();
        }
        let object = json!({
            "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
            "kind": key.kind.as_str(),
            "metadata": {
                "name": key.name,
                "uid": "u",
                "resourceVersion": self.version.to_string(),
                "annotations": self.annotations,
                "managedFields": [{
                    "manager": "other", "operation": "Update", "fieldsType": "FieldsV1",
                    "fieldsV1": self.others_fields(),
                }],
            },
            "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }
}

fn flatten(path: &str, value: &Value, leaves: &mut Leaves) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&join(path, name), value, leaves);
            }
        }
        Value::String(text) => {
            leaves.insert(path.to_owned(), text.clone());
        }
        other => panic!("{path} is {other}"),
    }
}

fn null_paths(path: &str, value: &Value, nulls: &mut Vec<String>) {
    match value {
        Value::Null => nulls.push(path.to_owned()),
        Value::Object(fields) => {
            for (name, value) in fields {
                null_paths(&join(path, name), value, nulls);
            }
        }
        other => panic!("{path} is {other}"),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}
