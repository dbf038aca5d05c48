//! What an object contains, in the same form whether it is wanted or stored.

use std::collections::BTreeMap;
use std::fmt;

use sha2::{Digest as _, Sha256};

use super::reading::HeldAddress;
use super::render::DesiredObject;
use super::stored::{StoredContent, StoredEntry};

/// The entries and fields of one object as borrowed texts; what two sides are compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content<'a> {
    Pool {
        range: Option<&'a str>,
        entries: BTreeMap<&'a str, Entry<'a>>,
    },
    Reservation(Entry<'a>),
}

/// An entry of a pool, or the spec of a reservation. What is absent is `None`; the ledger's empty
/// interface name is absent too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Entry<'a> {
    pub(super) id: Option<&'a str>,
    pub(super) podref: Option<&'a str>,
    pub(super) ifname: Option<&'a str>,
}

impl<'a> Content<'a> {
    /// What is wanted.
    pub(super) fn desired(object: &'a DesiredObject<'a>) -> Content<'a> {
        match object {
            DesiredObject::Pool(pool) => Content::Pool {
                range: Some(&pool.range),
                entries: pool
                    .entries
                    .iter()
                    .map(|(key, (_, hold))| (key.as_str(), Entry::of(hold)))
                    .collect(),
            },
            DesiredObject::Reservation(reservation) => Content::Reservation(Entry {
                id: None,
                ..Entry::of(reservation.hold)
            }),
        }
    }

    /// What is stored; nothing if its shape is foreign.
    pub(super) fn stored(content: &'a StoredContent) -> Option<Content<'a>> {
        match content {
            StoredContent::Pool { range, entries } => Some(Content::Pool {
                range: range.as_deref(),
                entries: entries
                    .iter()
                    .map(|(key, entry)| (key.as_str(), Entry::stored(entry)))
                    .collect(),
            }),
            StoredContent::Reservation(entry) => Some(Content::Reservation(Entry::stored(entry))),
            StoredContent::Unreadable(_) => None,
        }
    }

    /// The start of the SHA-256 of the content, in hex. It is written beside the content, so that
    /// an object tells whether somebody else has changed it since.
    pub(super) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        match self {
            Content::Pool { range, entries } => {
                add(&mut hash, *range);
                for (key, entry) in entries {
                    add(&mut hash, Some(key));
                    entry.add_to(&mut hash);
                }
            }
            Content::Reservation(entry) => entry.add_to(&mut hash),
        }
        let bytes = hash.finalize();
        bytes[..8]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

impl<'a> Entry<'a> {
    /// What a pool shows of a hold.
    pub(super) fn of(hold: &'a HeldAddress) -> Entry<'a> {
        Entry {
            id: Some(&hold.container_id),
            podref: Some(&hold.podref),
            ifname: present(&hold.ifname),
        }
    }

    fn stored(entry: &'a StoredEntry) -> Entry<'a> {
        Entry {
            id: entry.id.as_deref(),
            podref: entry.podref.as_deref(),
            ifname: entry.ifname.as_deref(),
        }
    }

    /// Fields by name.
    pub(super) fn fields(&self, id_name: &'static str) -> [(&'static str, Option<&'a str>); 3] {
        [
            (id_name, self.id),
            ("podref", self.podref),
            ("ifname", self.ifname),
        ]
    }

    fn add_to(&self, hash: &mut Sha256) {
        for (_, text) in self.fields("id") {
            add(hash, text);
        }
    }
}

/// `podref ifname id`, without what is absent.
impl fmt::Display for Entry<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<&str> = [self.podref, self.ifname, self.id]
            .into_iter()
            .flatten()
            .collect();
        match parts.is_empty() {
            true => formatter.write_str("nothing"),
            false => formatter.write_str(&parts.join(" ")),
        }
    }
}

/// Absent, empty and following texts cannot be mistaken for each other.
fn add(hash: &mut Sha256, text: Option<&str>) {
    match text {
        None => hash.update([0]),
        Some(text) => {
            hash.update([1]);
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text);
        }
    }
}

fn present(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
