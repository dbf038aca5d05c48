//! Cases by chance: one for each seed, the same on every machine.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::case::Case;

/// How many there are.
const SEEDS: u64 = 240;
/// Differences that a case with these features may show.
const GATEWAY: [&str; 2] = ["C-01", "C-03"];
const EVERYTHING_EXCLUDED: &str = "C-14";
const SEVERAL_RANGES: &str = "C-12";

/// All of them. A generated case may differ as it says, but need not.
#[must_use]
pub fn generated() -> Vec<Case> {
    (0..SEEDS).map(case).collect()
}

/// Whether a case comes from here.
#[must_use]
pub fn is_generated(case: &Case) -> bool {
    case.id.starts_with("seed-")
}

fn case(seed: u64) -> Case {
    let mut rng = Rng::with_seed(seed);
    let mut differs = Vec::new();
    let mut ipam = window(&mut rng, 0, true, &mut differs);
    if rng.u8(..3) == 0 {
        let more = (1..=rng.u8(1..=2)).map(|index| window(&mut rng, index, false, &mut differs));
        ipam.insert("ipRanges".to_owned(), more.map(Value::Object).collect());
        differs.push(SEVERAL_RANGES.to_owned());
    }
    if rng.u8(..4) == 0 {
        let gateway = ["10.0.0.1", "10.0.0.254", "192.0.2.1", "2001:db8::1"];
        ipam.insert("gateway".to_owned(), json!(rng.choice(gateway)));
        differs.extend(GATEWAY.map(str::to_owned));
    }
    extras(&mut rng, &mut ipam);
    let versions = [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ];
    let mut net = Map::new();
    net.insert("cniVersion".to_owned(), json!(rng.choice(versions)));
    differs.sort();
    differs.dedup();
    Case {
        id: format!("seed-{seed:03}"),
        net,
        ipam: Value::Object(ipam),
        others: Vec::new(),
        flat: Map::new(),
        flat_text: None,
        no_flat_file: false,
        stdin: None,
        variables: std::collections::BTreeMap::new(),
        slice: None,
        steps: steps(&mut rng),
        differs,
    }
}

/// Calls of a few pods: new ones, repeated ones, new sandboxes, and ends.
fn steps(rng: &mut Rng) -> Vec<String> {
    let mut steps = vec!["ADD a".to_owned()];
    for _ in 0..rng.u8(2..=4) {
        let step = [
            "ADD a",
            "ADD a",
            "ADD b",
            "ADD c",
            "ADD b#2",
            "ADD a@net2",
            "DEL a",
            "DEL b",
            "DEL c",
        ];
        steps.push(rng.choice(step).expect("there are some").to_owned());
    }
    steps
}

/// One range in a network of its own: `index` keeps the networks of a case apart.
fn window(rng: &mut Rng, index: u8, top: bool, differs: &mut Vec<String>) -> Map<String, Value> {
    let network = if rng.u8(..3) == 0 {
        Network::v6(rng, index)
    } else {
        Network::v4(rng, index)
    };
    let mut keys = Map::new();
    let (first, last) = (network.offset(rng), network.offset(rng));
    if rng.u8(..4) == 0 {
        let (first, last) = (first.min(last), first.max(last));
        let text = format!(
            "{}-{}/{}",
            network.text(first, rng.bool()),
            network.text(last, rng.bool()),
            network.length
        );
        keys.insert("range".to_owned(), text.into());
    } else {
        let host = if rng.bool() { network.offset(rng) } else { 0 };
        let text = format!("{}/{}", network.text(host, rng.bool()), network.length);
        keys.insert("range".to_owned(), text.into());
        // Zeros in front are read at the top level only.
        if rng.bool() {
            keys.insert("range_start".to_owned(), network.text(first, top).into());
        }
        if rng.u8(..3) == 0 {
            keys.insert("range_end".to_owned(), network.text(last, top).into());
        }
    }
    let parts: Vec<Value> = (0..rng.u8(..4)).map(|_| network.part(rng).into()).collect();
    if !parts.is_empty() {
        keys.insert("exclude".to_owned(), parts.into());
        differs.push(EVERYTHING_EXCLUDED.to_owned());
    }
    keys
}

/// A small network; offsets reach a little beyond its end.
struct Network {
    v6: bool,
    index: u8,
    length: u8,
    size: u16,
}

impl Network {
    fn v4(rng: &mut Rng, index: u8) -> Self {
        let length = rng.u8(25..=30);
        Self {
            v6: false,
            index,
            length,
            size: 1 << (32 - length),
        }
    }

    fn v6(rng: &mut Rng, index: u8) -> Self {
        let length = rng.u8(120..=126);
        Self {
            v6: true,
            index,
            length,
            size: 1 << (128 - length),
        }
    }

    fn offset(&self, rng: &mut Rng) -> u16 {
        rng.u16(..self.size)
    }

    /// An address; with zeros in front, or in upper case and uncompressed.
    fn text(&self, offset: u16, odd: bool) -> String {
        let index = self.index;
        match (self.v6, odd) {
            (false, false) => format!("10.0.{index}.{offset}"),
            (false, true) => format!("010.000.{index:03}.{offset:03}"),
            (true, false) => format!("2001:db8:0:{index}::{offset:x}"),
            (true, true) => format!("2001:0DB8:0:{index}:0:0:0:{offset:X}"),
        }
    }

    /// Something to exclude: an address, or a network that may have host bits.
    fn part(&self, rng: &mut Rng) -> String {
        let address = self.text(self.offset(rng), false);
        let bits = if self.v6 { 128 } else { 32 };
        match rng.u8(..3) {
            0 => address,
            _ => format!("{address}/{}", bits - rng.u8(..4)),
        }
    }
}

/// What is handed on as it is.
fn extras(rng: &mut Rng, ipam: &mut Map<String, Value>) {
    if rng.u8(..4) == 0 {
        let routes = json!([{"dst": "0.0.0.0/0"}, {"dst": "10.9.0.0/16", "gw": "10.0.0.200"},
                            {"dst": "2001:db8:9::/48", "mtu": 1400, "table": 100}]);
        ipam.insert("routes".to_owned(), routes);
    }
    if rng.u8(..4) == 0 {
        let dns = json!({"nameservers": ["192.0.2.53"], "domain": "example.net",
                         "search": ["a.example.net"], "options": ["ndots:2"]});
        ipam.insert("dns".to_owned(), dns);
    }
    if rng.u8(..4) == 0 {
        let address = json!([{"address": "192.168.7.9/24", "gateway": "192.168.7.1"}]);
        ipam.insert("addresses".to_owned(), address);
    }
    if rng.u8(..4) == 0 {
        ipam.insert("network_name".to_owned(), "blue".into());
    }
    if rng.u8(..4) == 0 {
        ipam.insert("enable_overlapping_ranges".to_owned(), false.into());
    }
}
