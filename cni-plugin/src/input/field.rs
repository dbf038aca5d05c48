use std::path::Path;

use serde_json::{Map, Value};

use crate::error::{CniError, Code};

/// A value with the key by which its author knows it: `ipRanges[1].range`, or
/// `range (in /etc/cni/net.d/ipledger.d/ipledger.conf)`.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    key: String,
    file: Option<&'a Path>,
    pub(crate) value: &'a Value,
}

/// Finds a key as Go does: the exact spelling first, then any case. `null` is absent.
pub(crate) fn find<'a>(map: &'a Map<String, Value>, key: &str) -> Option<(&'a str, &'a Value)> {
    let there = |(_, value): &(&String, &Value)| !value.is_null();
    let exact = map.get_key_value(key).filter(there);
    let found = exact.or_else(|| {
        map.iter()
            .filter(there)
            .rfind(|(name, _)| name.eq_ignore_ascii_case(key))
    });
    found.map(|(name, value)| (name.as_str(), value))
}

impl<'a> Field<'a> {
    pub(crate) fn new(key: &str, file: Option<&'a Path>, value: &'a Value) -> Self {
        Self {
            key: key.to_owned(),
            file,
            value,
        }
    }

    /// The key, and the file if it is not the definition itself.
    pub(crate) fn label(&self) -> String {
        match self.file {
            Some(file) => format!("{} (in {})", self.key, file.display()),
            None => self.key.clone(),
        }
    }

    /// The value cannot be meant.
    pub(crate) fn wrong(&self, why: &str) -> CniError {
        CniError::value(Code::InvalidConfig, &self.label(), self.value, why)
    }

    fn not_a(&self, wanted: &str) -> CniError {
        let kind = match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        self.wrong(&format!("is {kind}, not {wanted}"))
    }

    pub(crate) fn text(&self) -> Result<&'a str, CniError> {
        self.value.as_str().ok_or_else(|| self.not_a("a string"))
    }

    pub(crate) fn boolean(&self) -> Result<bool, CniError> {
        self.value
            .as_bool()
            .ok_or_else(|| self.not_a("true or false"))
    }

    pub(crate) fn integer(&self) -> Result<i64, CniError> {
        self.value
            .as_i64()
            .ok_or_else(|| self.not_a("a whole number"))
    }

    /// A whole number of a unit that the key names.
    pub(crate) fn integer_within(&self, least: u32, most: u32) -> Result<u32, CniError> {
        let number = self.integer()?;
        u32::try_from(number)
            .ok()
            .filter(|number| (least..=most).contains(number))
            .ok_or_else(|| self.wrong(&format!("is not between {least} and {most}")))
    }

    pub(crate) fn list(&self) -> Result<Vec<Field<'a>>, CniError> {
        let items = self.value.as_array().ok_or_else(|| self.not_a("a list"))?;
        let item = |(index, value)| Field {
            key: format!("{}[{index}]", self.key),
            file: self.file,
            value,
        };
        Ok(items.iter().enumerate().map(item).collect())
    }

    pub(crate) fn object(&self) -> Result<&'a Map<String, Value>, CniError> {
        self.value
            .as_object()
            .ok_or_else(|| self.not_a("an object"))
    }

    /// Every key of this object.
    pub(crate) fn children(&self) -> Result<Vec<(&'a str, Field<'a>)>, CniError> {
        let child = |(name, value): (&'a String, &'a Value)| {
            let key = format!("{}.{name}", self.key);
            (
                name.as_str(),
                Field {
                    key,
                    file: self.file,
                    value,
                },
            )
        };
        Ok(self.object()?.iter().map(child).collect())
    }

    /// A key of this object, if it is there.
    pub(crate) fn child(&self, key: &str) -> Result<Option<Field<'a>>, CniError> {
        let found = find(self.object()?, key);
        Ok(found.map(|(name, value)| Field {
            key: format!("{}.{name}", self.key),
            file: self.file,
            value,
        }))
    }

    /// A key that this object must have.
    pub(crate) fn required(&self, key: &str) -> Result<Field<'a>, CniError> {
        self.child(key)?.ok_or_else(|| {
            let label = Field {
                key: format!("{}.{key}", self.key),
                ..self.clone()
            }
            .label();
            CniError::key(Code::InvalidConfig, &label, "is missing")
        })
    }
}
