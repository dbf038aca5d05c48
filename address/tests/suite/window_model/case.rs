//! Random definitions near a small prefix.

use address::Family;
use proptest::prelude::*;

/// A number near the range: its distance from the network address, below 0 and beyond the range
/// too. Distances that lead out of the family stand for the network address.
pub(super) type Offset = i16;

#[derive(Clone, Debug)]
pub(super) enum Item {
    One(Offset),
    Between(Offset, Offset),
    /// A CIDR with this many host bits around the address.
    Around(Offset, u32),
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) network: u128,
    pub(super) start: Option<Offset>,
    pub(super) end: Option<Offset>,
    /// Written as `start-end/len` where that is possible.
    pub(super) dash: bool,
    pub(super) exclude: Vec<Item>,
    /// Taken runs: offset and length.
    pub(super) taken: Vec<(Offset, u8)>,
    pub(super) from: Offset,
    pub(super) spelling: usize,
}

/// A family and the host bits of a range.
#[derive(Copy, Clone)]
pub(super) struct Shape {
    pub(super) family: Family,
    pub(super) host_bits: u32,
}

impl Shape {
    pub(super) fn bits(self) -> u32 {
        if self.family == Family::V4 { 32 } else { 128 }
    }

    pub(super) fn size(self) -> i16 {
        1 << self.host_bits
    }

    pub(super) fn usable(self, offset: Offset) -> bool {
        match self.host_bits {
            0 | 1 => (0..self.size()).contains(&offset),
            _ => (1..self.size() - 1).contains(&offset),
        }
    }

    pub(super) fn cases(self) -> impl Strategy<Value = Case> {
        let highest = u128::MAX >> (128 - self.bits());
        let network = prop_oneof![
            8 => any::<u128>().prop_map(move |n| n & highest),
            1 => Just(0),
            1 => Just(highest),
        ]
        .prop_map(move |n| n >> self.host_bits << self.host_bits)
        .prop_filter("mapped ranges have tests of their own", |n| {
            n >> 32 != 0xffff
        });
        let offset = -3..self.size() + 3;
        // Mostly usable bounds in order, so that most cases are windows and not refusals.
        let bounds = (
            prop::option::of(offset.clone()),
            prop::option::of(offset.clone()),
            0..8,
        )
            .prop_map(|(start, end, keep)| match (start, end) {
                (Some(start), Some(end)) if keep > 0 && start > end => (Some(end), Some(start)),
                bounds => bounds,
            });
        let item = prop_oneof![
            offset.clone().prop_map(Item::One),
            (offset.clone(), offset.clone()).prop_map(|(a, b)| Item::Between(a.min(b), a.max(b))),
            (offset.clone(), 0_i16..12).prop_map(|(a, length)| Item::Between(a, a + length)),
            (offset.clone(), 0_u32..9).prop_map(|(a, host_bits)| Item::Around(a, host_bits)),
        ];
        let taken = prop::collection::vec((offset.clone(), 0_u8..12), 0..40);
        let exclude = prop_oneof![
            prop::collection::vec(item, 0..4),
            prop::collection::vec(offset.clone().prop_map(Item::One), 0..40),
        ];
        (
            network,
            bounds,
            any::<bool>(),
            exclude,
            taken,
            offset,
            0_usize..3,
        )
            .prop_map(
                |(network, (start, end), dash, exclude, taken, from, spelling)| Case {
                    network,
                    start,
                    end,
                    dash,
                    exclude,
                    taken,
                    from,
                    spelling,
                },
            )
    }
}
