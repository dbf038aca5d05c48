//! What network definitions and node slices say about pools, as far as an import needs it.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde_json::{Map, Value};

use super::inventory::{Inventory, SourceObject};

/// What is known of ranges beside the pools themselves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Definitions {
    /// By network name and CIDR: whether overlapping ranges are checked by any definition.
    overlapping: BTreeMap<(String, IpNet), bool>,
    /// By node, slice: the network name of the slices and the whole range.
    slices: BTreeMap<(String, IpNet), (String, IpNet)>,
}

impl Definitions {
    /// Reads the definitions and slices of an inventory. What cannot be read, or is for another
    /// address manager, says nothing.
    #[must_use]
    pub fn read(inventory: &Inventory) -> Definitions {
        let mut definitions = Definitions::default();
        for object in inventory.definitions.values() {
            let config = object.object.data["spec"]["config"].as_str();
            let config = config.and_then(|text| serde_json::from_str(text).ok());
            if let Some(config) = config {
                definitions.add_config(&config);
            }
        }
        for object in inventory.slices.values() {
            definitions.add_slices(object);
        }
        definitions
    }

    /// Whether a pool's addresses are unique in its whole network: unless every definition of it
    /// says otherwise.
    #[must_use]
    pub fn is_overlapping(&self, network: &str, range: IpNet) -> bool {
        let key = (network.to_owned(), range);
        self.overlapping.get(&key).copied().unwrap_or(true)
    }

    /// Ranges that some definition of the network gives out.
    pub(super) fn ranges<'a>(&'a self, network: &'a str) -> impl Iterator<Item = IpNet> + 'a {
        let known = self.overlapping.keys();
        known.filter_map(move |(name, range)| (name == network).then_some(*range))
    }

    /// Network name and whole range of a node's slice. `prefix` is what stands before the range in
    /// the name of the pool: the node, or the network name and the node.
    pub(super) fn whole_range(&self, prefix: &str, slice: IpNet) -> Option<(String, IpNet)> {
        let of_slice = self.slices.iter().filter(|((_, range), _)| *range == slice);
        for ((node, _), (network, whole)) in of_slice {
            if prefix == node {
                return Some((String::new(), *whole));
            }
            if prefix.strip_suffix(node.as_str()) == Some(&format!("{network}-")) {
                return Some((network.clone(), *whole));
            }
        }
        None
    }

    fn add_config(&mut self, config: &Value) {
        let plugins = get(config, "plugins").and_then(Value::as_array);
        let plugins = plugins.map_or(std::slice::from_ref(config), Vec::as_slice);
        for plugin in plugins {
            let ipam = get(plugin, "ipam");
            let kind = ipam
                .and_then(|ipam| get(ipam, "type"))
                .and_then(Value::as_str);
            if let (Some(ipam), Some("whereabouts" | "ipledger")) = (ipam, kind) {
                self.add_ipam(ipam);
            }
        }
    }

    fn add_ipam(&mut self, ipam: &Value) {
        let network = get(ipam, "network_name")
            .and_then(Value::as_str)
            .unwrap_or("");
        let overlapping = get(ipam, "enable_overlapping_ranges")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        let more = get(ipam, "ipRanges").and_then(Value::as_array);
        let ranges = std::iter::once(ipam).chain(more.into_iter().flatten());
        let texts = ranges.filter_map(|range| get(range, "range")?.as_str());
        for range in texts.filter_map(parse_range) {
            let known = self
                .overlapping
                .entry((network.to_owned(), range))
                .or_insert(false);
            *known |= overlapping;
        }
    }

    fn add_slices(&mut self, object: &SourceObject) {
        let data = &object.object.data;
        let whole = data["spec"]["range"].as_str().and_then(parse_range);
        let slices = data["status"]["allocations"].as_array();
        let (Some(whole), Some(slices)) = (whole, slices) else {
            return;
        };
        for slice in slices {
            let node = slice["nodeName"].as_str().unwrap_or("");
            let range = slice["sliceRange"].as_str().and_then(parse_range);
            if let Some(range) = range.filter(|_| !node.is_empty()) {
                let value = (object.name().to_owned(), whole);
                self.slices.insert((node.to_owned(), range), value);
            }
        }
    }
}

/// Go's JSON finds keys whatever their case, the exact spelling first.
fn get<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    let fields: &Map<String, Value> = value.as_object()?;
    let exact = fields.get(key);
    let found = exact.or_else(|| {
        let alike =
            |(name, value): (&String, &'a Value)| name.eq_ignore_ascii_case(key).then_some(value);
        fields.iter().find_map(alike)
    });
    found.filter(|value| !value.is_null())
}

/// The CIDR of `CIDR` or `first-last/length`, as whereabouts reads it.
fn parse_range(text: &str) -> Option<IpNet> {
    let cidr = text.rsplit_once('-').map_or(text, |(_, last)| last);
    let (address, length) = cidr.split_once('/')?;
    let address = if address.contains('.') && !address.contains(':') {
        let octets = address
            .split('.')
            .map(|octet| match octet.trim_start_matches('0') {
                "" => "0",
                octet => octet,
            });
        octets.collect::<Vec<_>>().join(".")
    } else {
        address.to_owned()
    };
    let range: IpNet = format!("{address}/{length}").parse().ok()?;
    Some(range.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_whereabouts_reads_them() {
        let cases = [
            ("10.10.3.0/24", Some("10.10.3.0/24")),
            ("10.0.0.77/24", Some("10.0.0.0/24")),
            ("192.168.2.225-192.168.2.230/28", Some("192.168.2.224/28")),
            ("00192.00168.1.0/24", Some("192.168.1.0/24")),
            ("2001:DB8:0:0::1/64", Some("2001:db8::/64")),
            ("10.0.0.0", None),
            ("junk/24", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(
                parse_range(text),
                expected.map(|cidr| cidr.parse().unwrap()),
                "{text}"
            );
        }
    }

    #[test]
    fn one_definition_that_checks_is_enough() {
        let mut definitions = Definitions::default();
        let add = |definitions: &mut Definitions, text: &str| {
            definitions.add_config(&serde_json::from_str(text).unwrap());
        };
        let off = r#"{"ipam":{"type":"whereabouts","range":"10.0.0.0/24","Enable_Overlapping_Ranges":false}}"#;
        let list = r#"{"plugins":[{"ipam":{"type":"host-local","range":"10.9.0.0/24"}},
            {"ipam":{"type":"whereabouts","network_name":"blue",
                "ipRanges":[{"range":"10.1.0.0/24"},{"range":"fd00::/64"}]}}]}"#;
        add(&mut definitions, off);
        add(&mut definitions, list);
        add(&mut definitions, "[]");
        let range = |text: &str| text.parse().unwrap();
        assert!(!definitions.is_overlapping("", range("10.0.0.0/24")));
        assert!(definitions.is_overlapping("blue", range("10.0.0.0/24")));
        assert!(definitions.is_overlapping("", range("10.9.0.0/24")));
        assert_eq!(definitions.ranges("blue").count(), 2);
        add(&mut definitions, &off.replace("false", "true"));
        assert!(definitions.is_overlapping("", range("10.0.0.0/24")));
    }
}
