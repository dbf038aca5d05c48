//! What a definition means, by going through all its addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv6Addr};

use address::{Window, WindowText, from_number};

use super::case::{Case, Item, Offset, Shape};

/// A case with the arithmetic that its texts and its model share.
pub(super) struct Checked<'a> {
    pub(super) shape: Shape,
    pub(super) case: &'a Case,
}

impl Checked<'_> {
    pub(super) fn number(&self, offset: Offset) -> u128 {
        let n = self.case.network.checked_add_signed(offset.into());
        n.filter(|&n| n <= u128::MAX >> (128 - self.shape.bits()))
            .unwrap_or(self.case.network)
    }

    /// The offset that `number` really stands for.
    fn clamped(&self, offset: Offset) -> Offset {
        if self.number(offset) == self.case.network {
            0
        } else {
            offset
        }
    }

    fn spell(&self, n: u128) -> String {
        match (from_number(self.shape.family, n), self.case.spelling) {
            (IpAddr::V6(v6), 1) => v6.to_string().to_uppercase(),
            (IpAddr::V6(v6), 2) => uncompressed(v6),
            (ip, _) => ip.to_string(),
        }
    }

    fn spell_offset(&self, offset: Offset) -> String {
        self.spell(self.number(offset))
    }

    fn item_text(&self, item: &Item) -> String {
        match *item {
            Item::One(a) => self.spell_offset(a),
            Item::Between(a, b) => {
                let (a, b) = (self.clamped(a), self.clamped(b));
                format!(
                    "{}-{}",
                    self.spell_offset(a.min(b)),
                    self.spell_offset(a.max(b))
                )
            }
            Item::Around(a, host_bits) => {
                format!("{}/{}", self.spell_offset(a), self.shape.bits() - host_bits)
            }
        }
    }

    fn item_covers(&self, item: &Item, n: u128) -> bool {
        match *item {
            Item::One(a) => self.number(a) == n,
            Item::Between(a, b) => {
                let (a, b) = (self.clamped(a), self.clamped(b));
                self.number(a.min(b)) <= n && n <= self.number(a.max(b))
            }
            Item::Around(a, host_bits) => self.number(a) >> host_bits == n >> host_bits,
        }
    }

    /// Why a bound is refused.
    fn bound_problem(&self, offset: Offset) -> Option<&'static str> {
        match self.clamped(offset) {
            offset if self.shape.usable(offset) => None,
            0 => Some("network_address"),
            offset if offset == self.shape.size() - 1 => Some("broadcast_address"),
            _ => Some("outside_range"),
        }
    }

    /// The numbers handed out, or why the definition is refused.
    pub(super) fn expected(&self) -> Result<BTreeSet<u128>, &'static str> {
        let (start, end) = (self.case.start, self.case.end);
        let refused = [start, end]
            .into_iter()
            .flatten()
            .find_map(|b| self.bound_problem(b));
        if let Some(kind) = refused {
            return Err(kind);
        }
        let (start, end) = (start.map(|o| self.clamped(o)), end.map(|o| self.clamped(o)));
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err("inverted");
        }
        let handed_out: BTreeSet<u128> = (0..self.shape.size())
            .filter(|&o| self.shape.usable(o))
            .filter(|&o| start.is_none_or(|start| o >= start) && end.is_none_or(|end| o <= end))
            .map(|o| self.number(o))
            .filter(|&n| {
                !self
                    .case
                    .exclude
                    .iter()
                    .any(|item| self.item_covers(item, n))
            })
            .collect();
        if handed_out.is_empty() {
            Err("nothing_left")
        } else {
            Ok(handed_out)
        }
    }

    pub(super) fn parse(&self) -> Result<Window, address::WindowError> {
        let length = self.shape.bits() - self.shape.host_bits;
        let exclude: Vec<String> = self
            .case
            .exclude
            .iter()
            .map(|item| self.item_text(item))
            .collect();
        let start = self.case.start.map(|o| self.spell_offset(o));
        let end = self.case.end.map(|o| self.spell_offset(o));
        let in_range = |o: Offset| (0..self.shape.size()).contains(&self.clamped(o));
        match (&start, &end) {
            (Some(start), Some(end)) if self.case.dash && self.case.end.is_some_and(in_range) => {
                Window::parse(&WindowText {
                    range: &format!("{start}-{end}/{length}"),
                    range_start: None,
                    range_end: None,
                    exclude: &exclude,
                })
            }
            _ => Window::parse(&WindowText {
                range: &format!(
                    "{}/{length}",
                    self.spell_offset(self.case.from.rem_euclid(self.shape.size()))
                ),
                range_start: start.as_deref(),
                range_end: end.as_deref(),
                exclude: &exclude,
            }),
        }
    }
}

fn uncompressed(v6: Ipv6Addr) -> String {
    v6.segments()
        .map(|segment| format!("{segment:04x}"))
        .join(":")
}
