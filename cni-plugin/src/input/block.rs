use serde_json::{Map, Value};

use super::FlatFile;
use super::field::{Field, find};
use crate::error::CniError;

/// The `ipam` object of a definition over the flat file of the node. The definition wins key by
/// key; the file fills what the definition leaves at Go's zero value. Lists are all or nothing.
#[derive(Debug)]
pub(crate) struct Block {
    definition: Map<String, Value>,
    file: Option<FlatFile>,
}

impl Block {
    pub(crate) fn new(definition: Map<String, Value>, file: Option<FlatFile>) -> Self {
        Self { definition, file }
    }

    /// A key, from wherever it comes; `None` if it has Go's zero value everywhere.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'_>> {
        self.own(key).or_else(|| {
            let file = self.file.as_ref()?;
            let (name, value) = find(&file.keys, key).filter(|(_, value)| !is_zero(value))?;
            Some(Field::new(name, Some(&file.path), value))
        })
    }

    /// A key of an object, merged by the same rule one level down.
    pub(crate) fn get_in(&self, object: &str, key: &str) -> Result<Option<Field<'_>>, CniError> {
        if let Some(field) = self.own(object)
            && let Some(child) = field.child(key)?.filter(|child| !is_zero(child.value))
        {
            return Ok(Some(child));
        }
        let Some(file) = &self.file else {
            return Ok(None);
        };
        let Some((name, value)) = find(&file.keys, object) else {
            return Ok(None);
        };
        let field = Field::new(name, Some(&file.path), value);
        Ok(field.child(key)?.filter(|child| !is_zero(child.value)))
    }

    /// A key of the definition alone.
    pub(crate) fn own(&self, key: &str) -> Option<Field<'_>> {
        let (name, value) = find(&self.definition, key).filter(|(_, value)| !is_zero(value))?;
        Some(Field::new(name, None, value))
    }

    /// A boolean of the definition alone, of which `false` says something.
    pub(crate) fn own_boolean(&self, key: &str) -> Option<Field<'_>> {
        find(&self.definition, key).map(|(name, value)| Field::new(name, None, value))
    }

    /// A key of the flat file alone.
    pub(crate) fn in_file(&self, key: &str) -> Option<Field<'_>> {
        let file = self.file.as_ref()?;
        find(&file.keys, key).map(|(name, value)| Field::new(name, Some(&file.path), value))
    }

    /// Every key that somebody wrote, for the search for misspellings.
    pub(crate) fn every_key(&self) -> impl Iterator<Item = (&str, Field<'_>)> {
        let own = self
            .definition
            .iter()
            .map(|(key, value)| (key.as_str(), Field::new(key, None, value)));
        let file = self.file.iter().flat_map(|file| {
            file.keys
                .iter()
                .map(|(key, value)| (key.as_str(), Field::new(key, Some(&file.path), value)))
        });
        own.chain(file)
    }

    /// The flat file that was found.
    pub(crate) fn file(&self) -> Option<&FlatFile> {
        self.file.as_ref()
    }
}

/// Go's zero values, which a definition cannot tell from an absent key.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
