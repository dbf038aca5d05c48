//! What is wrong with an object, entry by entry, with the ledger's events that make it so.

use std::fmt;

use serde::Serialize;

use super::content::{Content, Entry};
use super::plan::entry_lacks;
use super::reading::HeldAddress;
use super::render::{DesiredObject, Position};
use super::stored::{Stored, StoredContent};

/// One difference between an object and the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Discrepancy {
    /// Key of the entry in a pool; for a reservation, and for what concerns a pool as a whole, the
    /// name of the field.
    pub entry: String,
    /// What the object shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What the ledger says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<LedgerFact>,
    /// The space and position of the reading, `<space>@<seq>`.
    pub as_of: String,
}

/// A hold, and the event that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerFact {
    /// The address.
    pub address: String,
    /// `namespace/name` of the pod.
    pub podref: String,
    /// The interface.
    pub ifname: String,
    /// The sandbox.
    pub container_id: String,
    /// Position of the event that allocated it.
    pub seq: u64,
    /// Its step.
    pub step: u32,
}

impl LedgerFact {
    fn of(address: &impl ToString, hold: &HeldAddress) -> LedgerFact {
        LedgerFact {
            address: address.to_string(),
            podref: hold.podref.clone(),
            ifname: hold.ifname.clone(),
            container_id: hold.container_id.clone(),
            seq: hold.seq,
            step: hold.step,
        }
    }
}

impl fmt::Display for Discrepancy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Discrepancy {
            entry,
            object,
            ledger,
            as_of,
        } = self;
        match object {
            None => write!(formatter, "{entry} was missing: ")?,
            Some(object) => write!(formatter, "{entry} showed {object}: ")?,
        }
        match ledger {
            None => write!(formatter, "not held as of {as_of}"),
            Some(fact) => {
                let space = as_of.rsplit_once('@').map_or("", |(space, _)| space);
                let LedgerFact {
                    address,
                    podref,
                    ifname,
                    seq,
                    step,
                    ..
                } = fact;
                write!(
                    formatter,
                    "{address} is held by {podref} {ifname} since {space}@{seq} (step {step})"
                )
            }
        }
    }
}

/// Everything that differs between an object and the ledger. An object that is to be gone is
/// compared with nothing; one whose shape is foreign has no differences that can be named.
#[must_use]
pub fn discrepancies(
    desired: Option<&DesiredObject<'_>>,
    stored: Option<&Stored>,
    reading: &Position,
) -> Vec<Discrepancy> {
    let position = desired.map_or(reading, DesiredObject::position);
    let as_of = position_text(position);
    let found = stored.map(|stored| &stored.content);
    match (desired, found) {
        (Some(DesiredObject::Reservation(wanted)), found) => {
            let found = found.and_then(Content::stored);
            let shown = match &found {
                Some(Content::Reservation(entry)) => Some(entry),
                _ => None,
            };
            let desired = desired.map(Content::desired);
            let Some(Content::Reservation(right)) = &desired else {
                return Vec::new();
            };
            if shown.is_some_and(|shown| same(shown, right)) {
                return Vec::new();
            }
            vec![Discrepancy {
                entry: "spec".to_owned(),
                object: shown.map(Entry::to_string),
                ledger: Some(LedgerFact::of(&wanted.address, wanted.hold)),
                as_of,
            }]
        }
        (None, Some(StoredContent::Reservation(_))) => {
            let object = found
                .and_then(Content::stored)
                .map(|content| match content {
                    Content::Reservation(entry) => entry.to_string(),
                    Content::Pool { .. } => String::new(),
                });
            vec![Discrepancy {
                entry: "spec".to_owned(),
                object,
                ledger: None,
                as_of,
            }]
        }
        _ => pool_discrepancies(desired, found, &as_of),
    }
}

fn pool_discrepancies(
    desired: Option<&DesiredObject<'_>>,
    found: Option<&StoredContent>,
    as_of: &str,
) -> Vec<Discrepancy> {
    let found = found.and_then(Content::stored);
    let (range, shown) = match &found {
        Some(Content::Pool { range, entries }) => (*range, entries.clone()),
        _ => (None, Default::default()),
    };
    let mut all = Vec::new();
    if let Some(DesiredObject::Pool(pool)) = desired {
        if range.is_some_and(|range| range != pool.range) {
            all.push(Discrepancy {
                entry: format!("spec.range (right: {})", pool.range),
                object: range.map(str::to_owned),
                ledger: None,
                as_of: as_of.to_owned(),
            });
        }
        for (key, (address, hold)) in &pool.entries {
            let right = Entry::of(hold);
            let object = shown.get(key.as_str());
            if object.is_some_and(|shown| same(shown, &right)) {
                continue;
            }
            all.push(Discrepancy {
                entry: key.clone(),
                object: object.map(Entry::to_string),
                ledger: Some(LedgerFact::of(address, hold)),
                as_of: as_of.to_owned(),
            });
        }
    }
    let wanted = |key: &str| matches!(desired, Some(DesiredObject::Pool(pool)) if pool.entries.contains_key(key));
    let foreign = shown.iter().filter(|(key, _)| !wanted(key));
    all.extend(foreign.map(|(key, entry)| Discrepancy {
        entry: (*key).to_owned(),
        object: Some(entry.to_string()),
        ledger: None,
        as_of: as_of.to_owned(),
    }));
    all
}

fn same(shown: &Entry<'_>, right: &Entry<'_>) -> bool {
    !entry_lacks(shown, right) && !entry_lacks(right, shown)
}

/// `<space>@<seq>`, several with commas.
fn position_text(position: &Position) -> String {
    let parts: Vec<String> = position
        .as_of
        .iter()
        .map(|(space, seq)| format!("{space}@{seq}"))
        .collect();
    parts.join(",")
}
