//! whereabouts' reading of a range against its own rule, spelled out address by address for every
//! small network: what the request asks for is what whereabouts would hand out.

use std::collections::BTreeSet;

use address::{Family, Window, WindowText, from_number};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::nobody;
use crate::plugin::{Plugin, whereabouts, with_ipam};

/// A network of at most 256 addresses, and offsets from its first address; those that are too
/// large lie outside it.
#[derive(Clone, Debug)]
struct Case {
    family: Family,
    /// The number of the network's first address.
    base: u128,
    /// Addresses in the network: a power of two, at least 4.
    size: u128,
    start: Option<u128>,
    end: Option<u128>,
    /// Offset and size of the part around it.
    exclude: Vec<(u128, u32)>,
}

fn case() -> impl Strategy<Value = Case> {
    let offset = 0..300_u128;
    let family = prop_oneof![Just(Family::V4), Just(Family::V6)];
    let exclude = proptest::collection::vec((offset.clone(), 0..4_u32), 0..4);
    let end = proptest::option::of(offset.clone());
    let start = proptest::option::of(offset);
    (family, 2..9_u32, 1..200_u128, start, end, exclude).prop_map(
        |(family, host_bits, place, start, end, exclude)| {
            let origin = match family {
                Family::V4 => 10_u128 << 24,
                Family::V6 => 0x2001_0db8_u128 << 96,
            };
            Case {
                family,
                base: origin + (place << 8),
                size: 1 << host_bits,
                start,
                end,
                exclude,
            }
        },
    )
}

impl Case {
    fn bits(&self) -> u32 {
        match self.family {
            Family::V4 => 32,
            Family::V6 => 128,
        }
    }

    fn text(&self, offset: u128) -> String {
        from_number(self.family, self.base + offset).to_string()
    }

    fn keys(&self) -> Value {
        let length = self.bits() - self.size.ilog2();
        let mut keys = json!({ "cluster": "prod", "range": format!("{}/{length}", self.text(0)) });
        for (key, bound) in [("range_start", self.start), ("range_end", self.end)] {
            if let Some(offset) = bound {
                keys[key] = self.text(offset).into();
            }
        }
        let part = |(offset, host_bits): &(u128, u32)| {
            format!("{}/{}", self.text(*offset), self.bits() - host_bits)
        };
        keys["exclude"] = self.exclude.iter().map(part).collect();
        keys
    }

    /// The second to the last but one; a start within them replaces the first, an end between
    /// start and the last replaces the last; excluded parts are taken out whole.
    fn handed_out(&self) -> BTreeSet<u128> {
        let (mut first, mut last) = (1, self.size - 2);
        if let Some(start) = self.start.filter(|start| (first..=last).contains(start)) {
            first = start;
        }
        if let Some(end) = self.end.filter(|end| (first..=last).contains(end)) {
            last = end;
        }
        let excluded = |offset: &u128| {
            let same_part = |(within, host_bits): &(u128, u32)| {
                (self.base + offset) >> host_bits == (self.base + within) >> host_bits
            };
            self.exclude.iter().any(same_part)
        };
        (first..=last)
            .filter(|offset| !excluded(offset))
            .map(|offset| self.base + offset)
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_request_asks_for_what_whereabouts_would_hand_out(case in case()) {
        let definition = with_ipam(whereabouts(), case.keys());
        let request = Plugin::new("ADD", &nobody()).definition(&definition).plan();
        let range = &request.unwrap().unwrap().ranges[0];
        let window = Window::parse(&WindowText {
            range: &range.range,
            range_start: range.range_start.as_deref(),
            range_end: range.range_end.as_deref(),
            exclude: &range.exclude,
        });
        let expected = case.handed_out();
        match window {
            Ok(window) => {
                let contained = |n: &u128| window.contains(from_number(case.family, *n));
                let got: BTreeSet<u128> =
                    (case.base..case.base + case.size).filter(contained).collect();
                prop_assert_eq!(got, expected);
            }
            // The API refuses a window that hands nothing out.
            Err(error) => {
                prop_assert_eq!(error.kind(), "nothing_left");
                prop_assert!(expected.is_empty());
            }
        }
    }
}
