//! What was read, sorted by kind.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::Value;

use super::pods::{NodeFacts, PodFacts, PodName, Pods};

/// Everything that was read, from a cluster or from files. Objects are kept by their label; of one
/// that was read twice the last reading counts.
#[derive(Debug, Clone, Default)]
pub struct Inventory {
    /// `IPPool` objects.
    pub pools: BTreeMap<String, SourceObject>,
    /// `OverlappingRangeIPReservation` objects.
    pub reservations: BTreeMap<String, SourceObject>,
    /// `NodeSlicePool` objects.
    pub slices: BTreeMap<String, SourceObject>,
    /// `NetworkAttachmentDefinition` objects.
    pub definitions: BTreeMap<String, SourceObject>,
    /// Pods.
    pub pods: Pods,
    /// Nodes; none if nobody looked.
    pub nodes: Vec<NodeFacts>,
    /// How many objects of other kinds the files held, by kind.
    pub ignored: BTreeMap<String, usize>,
}

/// An object, and where it was read.
#[derive(Debug, Clone)]
pub struct SourceObject {
    /// As it was read.
    pub object: DynamicObject,
    /// `cluster`, or the name of a file.
    pub read_from: String,
}

/// A file or an object in it that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file (first field) could not be read.
    #[error("{0}: {1}")]
    File(String, std::io::Error),
    /// The file is no JSON, or it was cut in the middle.
    #[error("{0}: is cut or damaged: {1}; nothing was imported")]
    Json(String, serde_json::Error),
    /// The file is no YAML.
    #[error("{0}: cannot be read as YAML: {1}; nothing was imported")]
    Yaml(String, String),
    /// The file (first field) holds something that is no object of Kubernetes.
    #[error("{0}: item {1} is no Kubernetes object ({2}); nothing was imported")]
    Item(String, usize, String),
}

impl ReadError {
    /// A fixed word for tests and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ReadError::File(..) => "file",
            ReadError::Json(..) => "json",
            ReadError::Yaml(..) => "yaml",
            ReadError::Item(..) => "item",
        }
    }
}

impl Inventory {
    /// Adds what a file holds: one object, a list of them, or several YAML documents.
    ///
    /// # Errors
    /// See [`ReadError`]; then nothing of the file was added.
    pub fn add_text(&mut self, file: &str, text: &str) -> Result<(), ReadError> {
        let mut objects = Vec::new();
        for document in documents(file, text)? {
            flatten(document, &mut objects);
        }
        let objects: Vec<DynamicObject> = objects
            .into_iter()
            .enumerate()
            .map(|(index, value)| {
                serde_json::from_value(value)
                    .map_err(|error| ReadError::Item(file.to_owned(), index, error.to_string()))
            })
            .collect::<Result<_, _>>()?;
        for object in objects {
            self.add(object, file);
        }
        Ok(())
    }

    /// Adds one object.
    pub fn add(&mut self, object: DynamicObject, read_from: &str) {
        let kind = object.types.as_ref().map_or("", |types| &types.kind);
        let list = match kind {
            "IPPool" => &mut self.pools,
            "OverlappingRangeIPReservation" => &mut self.reservations,
            "NodeSlicePool" => &mut self.slices,
            "NetworkAttachmentDefinition" => &mut self.definitions,
            "Pod" => return self.add_pod(&object),
            "Node" => return self.nodes.push(NodeFacts::read(&object)),
            other => {
                *self.ignored.entry(other.to_owned()).or_default() += 1;
                return;
            }
        };
        let read_from = read_from.to_owned();
        let source = SourceObject { object, read_from };
        list.insert(source.label(), source);
    }

    fn add_pod(&mut self, pod: &DynamicObject) {
        let name = PodName {
            namespace: pod.metadata.namespace.clone().unwrap_or_default(),
            name: pod.metadata.name.clone().unwrap_or_default(),
        };
        if let Pods::Unknown = self.pods {
            self.pods = Pods::Known(BTreeMap::new());
        }
        if let Pods::Known(pods) = &mut self.pods {
            pods.insert(name, PodFacts::read(pod));
        }
    }
}

/// The documents of a file. JSON is told by its first character; a file cut in the middle of JSON
/// is an error, while YAML that was cut may look whole.
fn documents(file: &str, text: &str) -> Result<Vec<Value>, ReadError> {
    if text.trim_start().starts_with(['{', '[']) {
        let value =
            serde_json::from_str(text).map_err(|error| ReadError::Json(file.to_owned(), error))?;
        return Ok(vec![value]);
    }
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)
        .map_err(|error| ReadError::Yaml(file.to_owned(), first_line(&error.to_string())))?;
    Ok(documents
        .into_iter()
        .filter(|value| !value.is_null())
        .collect())
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Lists of any kind are taken apart.
fn flatten(value: Value, objects: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.into_iter().for_each(|item| flatten(item, objects)),
        Value::Object(mut fields) => match fields.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => {
                items.into_iter().for_each(|item| flatten(item, objects));
            }
            _ => objects.push(Value::Object(fields)),
        },
        other => objects.push(other),
    }
}

impl SourceObject {
    /// `<kind> <namespace>/<name>`.
    #[must_use]
    pub fn label(&self) -> String {
        let kind = self.object.types.as_ref().map_or("", |types| &types.kind);
        let metadata = &self.object.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let name = metadata.name.as_deref().unwrap_or_default();
        format!("{kind} {namespace}/{name}")
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.object.metadata.name.as_deref().unwrap_or_default()
    }
}
