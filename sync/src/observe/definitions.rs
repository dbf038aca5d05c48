//! Network definitions. Nothing is decided by them: they are read to say what is wrong with them.

use std::collections::HashMap;
use std::fmt;

use kube::core::DynamicObject;
use serde_json::Value;

/// The types of IPAM that are served here.
const OURS: [&str; 2] = ["ipledger", "whereabouts"];

/// What a definition asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Definition {
    /// Addresses of ours, from ranges that it names.
    Ours,
    /// Nothing of ours: another IPAM, none, or a file on the node.
    NotOurs,
    /// Nothing that could be served, and why.
    Unusable(Fault),
}

/// Why a definition cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// `spec.config` is not JSON; at this line and column.
    Broken(String),
    /// The IPAM section is of ours and has neither `range` nor `ipRanges`.
    NoRange,
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Broken(why) => write!(formatter, "spec.config is not JSON: {why}"),
            Fault::NoRange => formatter.write_str(
                "ipam has neither range nor ipRanges; pods of this network get no address",
            ),
        }
    }
}

/// Judges `spec.config` of a definition.
#[must_use]
pub fn inspect(config: Option<&str>) -> Definition {
    let Some(text) = config.filter(|text| !text.trim().is_empty()) else {
        return Definition::NotOurs;
    };
    let config: Value = match serde_json::from_str(text) {
        Ok(config) => config,
        Err(error) => return Definition::Unusable(Fault::Broken(error.to_string())),
    };
    let listed = config.get("plugins").and_then(Value::as_array);
    let plugins = listed.map_or_else(|| std::slice::from_ref(&config), Vec::as_slice);
    let ours: Vec<&Value> = plugins
        .iter()
        .filter_map(|plugin| plugin.get("ipam"))
        .filter(|ipam| {
            let kind = ipam.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| OURS.contains(&kind))
        })
        .collect();
    if ours.is_empty() {
        Definition::NotOurs
    } else if ours.iter().all(|ipam| has_range(ipam)) {
        Definition::Ours
    } else {
        Definition::Unusable(Fault::NoRange)
    }
}

fn has_range(ipam: &Value) -> bool {
    let named = |value: Option<&Value>| {
        value
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    let ranges = ipam.get("ipRanges").and_then(Value::as_array);
    named(ipam.get("range"))
        || ranges.is_some_and(|ranges| {
            !ranges.is_empty() && ranges.iter().all(|range| named(range.get("range")))
        })
}

/// The faults that were told, so that each is told once.
#[derive(Debug, Default)]
pub(crate) struct Warned {
    told: HashMap<String, Fault>,
}

impl Warned {
    /// What is to be told about this definition: name and fault, if it is a new one.
    pub(crate) fn look(&mut self, object: &DynamicObject) -> Option<(String, Fault)> {
        let name = name(object);
        let config = object.data.pointer("/spec/config").and_then(Value::as_str);
        let Definition::Unusable(fault) = inspect(config) else {
            self.told.remove(&name);
            return None;
        };
        let before = self.told.insert(name.clone(), fault.clone());
        (before.as_ref() != Some(&fault)).then_some((name, fault))
    }

    /// The definition is deleted.
    pub(crate) fn forget(&mut self, object: &DynamicObject) {
        self.told.remove(&name(object));
    }

    /// How many are unusable now.
    pub(crate) fn count(&self) -> usize {
        self.told.len()
    }
}

fn name(object: &DynamicObject) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    let metadata = &object.metadata;
    format!("{}/{}", part(&metadata.namespace), part(&metadata.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_config_is_told_for_what_it_is() {
        let ours = Definition::Ours;
        let not_ours = Definition::NotOurs;
        let no_range = Definition::Unusable(Fault::NoRange);
        for (config, expected) in [
            (
                r#"{"ipam":{"type":"whereabouts","range":"10.0.0.0/24"}}"#,
                &ours,
            ),
            (
                r#"{"ipam":{"type":"ipledger","ipRanges":[{"range":"10.0.0.0/24"}]}}"#,
                &ours,
            ),
            (
                r#"{"plugins":[{"ipam":{"type":"ipledger","range":"::/64"}},{}]}"#,
                &ours,
            ),
            (r#"{"ipam":{"type":"host-local"}}"#, &not_ours),
            (r#"{"ipam":{}}"#, &not_ours),
            (r#"{"type":"bridge"}"#, &not_ours),
            (r#"{"plugins":[{"ipam":{"type":"dhcp"}}]}"#, &not_ours),
            ("[]", &not_ours),
            ("", &not_ours),
            (r#"{"ipam":{"type":"whereabouts"}}"#, &no_range),
            (r#"{"ipam":{"type":"whereabouts","range":""}}"#, &no_range),
            (r#"{"ipam":{"type":"ipledger","ipRanges":[]}}"#, &no_range),
            (r#"{"plugins":[{"ipam":{"type":"ipledger"}}]}"#, &no_range),
        ] {
            assert_eq!(inspect(Some(config)), *expected, "{config}");
        }
        assert_eq!(inspect(None), not_ours);
        let Definition::Unusable(fault) = inspect(Some(r#"{"ipam":"#)) else {
            panic!("half a config is broken");
        };
        assert!(
            fault
                .to_string()
                .starts_with("spec.config is not JSON: EOF")
        );
    }

    #[test]
    fn a_fault_is_told_once_until_it_changes() {
        let object = |config: &str| -> DynamicObject {
            serde_json::from_value(serde_json::json!({
                "metadata": {"namespace": "default", "name": "net"}, "spec": {"config": config},
            }))
            .unwrap()
        };
        let mut warned = Warned::default();
        let broken = object("{");
        let (name, _) = warned.look(&broken).unwrap();
        assert_eq!(name, "default/net");
        assert_eq!(warned.look(&broken), None);
        let no_range = object(r#"{"ipam":{"type":"ipledger"}}"#);
        assert_eq!(warned.look(&no_range), Some((name, Fault::NoRange)));
        assert_eq!(warned.count(), 1);
        assert_eq!(warned.look(&object("{}")), None);
        assert_eq!(warned.count(), 0);
        assert!(warned.look(&broken).is_some());
        warned.forget(&broken);
        assert!(warned.look(&broken).is_some());
    }
}
