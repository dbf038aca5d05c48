//! From what is wanted and what is stored to the writes that are left to do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::body::{self, Surplus};
use super::content::{Content, Entry};
use super::render::{Desired, DesiredObject, DesiredPool, Position};
use super::stored::{Stored, StoredContent};
use super::{ObjectKey, ObjectKind};

/// What is stored, by kind and name.
pub type StoredObjects = BTreeMap<ObjectKey, Stored>;

/// What is left to do. Some objects need a second write after the first, so plan again with what
/// the first one left: an empty plan means that the objects are right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan<'a> {
    /// In the order of kind and name: pools first.
    pub writes: Vec<ObjectWrite<'a>>,
    /// Objects that are left alone because their shape is foreign, with what cannot be read.
    pub skipped: Vec<(ObjectKey, String)>,
}

/// One write to one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectWrite<'a> {
    /// Which object.
    pub key: ObjectKey,
    /// What to do.
    pub action: Action<'a>,
    /// UID and resource version that the write is good for; nothing for an object that is not
    /// there.
    pub guard: Option<Guard>,
    /// Why.
    pub cause: Cause,
}

/// The stored object that a write was planned for. If it has changed, the API server refuses the
/// write, and it is planned anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// UID.
    pub uid: String,
    /// Resource version.
    pub resource_version: String,
}

/// What is done to an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<'a> {
    /// Server-side apply of exactly this.
    Apply(Cow<'a, DesiredObject<'a>>),
    /// Taking out what another manager owns.
    Remove(Vec<Surplus>),
    /// Deletion.
    Delete,
}

/// Why an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The ledger has it and the cluster did not.
    Created,
    /// What it shows is right, but it was never written by this program.
    Adopted,
    /// The ledger moved on.
    Moved,
    /// Somebody else has changed it, or made it.
    Edited,
    /// Somebody else has deleted it.
    Deleted,
}

impl Cause {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Cause::Created => "created",
            Cause::Adopted => "adopted",
            Cause::Moved => "moved",
            Cause::Edited => "edited",
            Cause::Deleted => "deleted",
        }
    }

    /// Whether somebody else made this write necessary.
    #[must_use]
    pub fn is_foreign(self) -> bool {
        matches!(self, Cause::Edited | Cause::Deleted)
    }
}

/// The writes that make the stored objects show what is wanted. `was_ours` tells the objects that
/// this process has seen there as its own: one of them that is absent was deleted by somebody.
///
/// A pool without holds is kept and emptied, as whereabouts keeps it; a reservation without a hold
/// is deleted. Where nothing differs, nothing is written, even if the positions moved on.
#[must_use]
pub fn plan<'a>(
    desired: &'a Desired<'a>,
    stored: &StoredObjects,
    was_ours: impl Fn(&ObjectKey) -> bool,
) -> Plan<'a> {
    let mut plan = Plan::default();
    for (key, object) in &desired.objects {
        match stored.get(key) {
            None => plan.writes.push(ObjectWrite {
                key: key.clone(),
                action: Action::Apply(Cow::Borrowed(object)),
                guard: None,
                cause: if was_ours(key) {
                    Cause::Deleted
                } else {
                    Cause::Created
                },
            }),
            Some(stored) => plan.correct(key, Cow::Borrowed(object), stored),
        }
    }
    let unwanted = stored
        .iter()
        .filter(|(key, _)| !desired.objects.contains_key(key));
    let mut deletions = Vec::new();
    for (key, stored) in unwanted {
        match key.kind {
            ObjectKind::Reservation => deletions.push(deletion(key, stored)),
            ObjectKind::Pool => plan.empty(key, stored, &desired.position),
        }
    }
    plan.writes.extend(deletions);
    plan
}

impl<'a> Plan<'a> {
    fn correct(&mut self, key: &ObjectKey, object: Cow<'a, DesiredObject<'a>>, stored: &Stored) {
        let Some(found) = Content::stored(&stored.content) else {
            if let StoredContent::Unreadable(why) = &stored.content {
                self.skipped.push((key.clone(), why.clone()));
            }
            return;
        };
        let wanted = Content::desired(&object);
        let (lacks, surplus) = (lacks(&found, &wanted), surplus(&wanted, &found));
        let marked = stored.digest.as_deref() == Some(wanted.digest().as_str())
            && stored.omitted == object.omitted();
        let cause = match &stored.digest {
            None if shows_nothing_else(&found, &wanted) => Cause::Adopted,
            Some(digest) if *digest == found.digest() => Cause::Moved,
            _ => Cause::Edited,
        };
        let action = if must_empty_first(&wanted, &found) || is_shared(stored, &surplus) {
            Action::Remove(surplus)
        } else if !marked || lacks {
            Action::Apply(object)
        } else if !surplus.is_empty() {
            Action::Remove(surplus)
        } else {
            return;
        };
        self.writes.push(ObjectWrite {
            key: key.clone(),
            action,
            guard: Some(Guard::of(stored)),
            cause,
        });
    }

    /// A pool that shows nothing any more. One that is empty and was never ours stays as it is.
    fn empty(&mut self, key: &ObjectKey, stored: &Stored, position: &Arc<Position>) {
        let StoredContent::Pool { range, entries } = &stored.content else {
            if let StoredContent::Unreadable(why) = &stored.content {
                self.skipped.push((key.clone(), why.clone()));
            }
            return;
        };
        if entries.is_empty() && stored.digest.is_none() {
            return;
        }
        let Some(range) = range else {
            self.skipped
                .push((key.clone(), "spec.range is absent".to_owned()));
            return;
        };
        let pool = DesiredPool {
            range: range.clone(),
            entries: BTreeMap::new(),
            omitted: 0,
            position: Arc::clone(position),
        };
        self.correct(key, Cow::Owned(DesiredObject::Pool(pool)), stored);
    }
}

fn deletion<'a>(key: &ObjectKey, stored: &Stored) -> ObjectWrite<'a> {
    let found = Content::stored(&stored.content).map(|content| content.digest());
    ObjectWrite {
        key: key.clone(),
        action: Action::Delete,
        guard: Some(Guard::of(stored)),
        cause: if stored.digest.is_some() && stored.digest == found {
            Cause::Moved
        } else {
            Cause::Edited
        },
    }
}

impl Guard {
    fn of(stored: &Stored) -> Guard {
        Guard {
            uid: stored.uid.clone(),
            resource_version: stored.resource_version.clone(),
        }
    }
}

/// Where a server-side apply would take out the last entry of a pool, the API server makes a null of
/// the map, and refuses that. So entries are taken out by name before an empty map is applied.
fn must_empty_first(wanted: &Content<'_>, found: &Content<'_>) -> bool {
    let count = |content: &Content<'_>| match content {
        Content::Pool { entries, .. } => Some(entries.len()),
        Content::Reservation(_) => None,
    };
    count(wanted) == Some(0) && count(found) > Some(0)
}

/// Whether an apply would leave a part of a surplus entry behind.
fn is_shared(stored: &Stored, surplus: &[Surplus]) -> bool {
    surplus
        .iter()
        .any(|item| matches!(item, Surplus::Entry(key) if stored.shared.contains(key)))
}

/// Whether all that is there is wanted; something may be missing.
fn shows_nothing_else(found: &Content<'_>, wanted: &Content<'_>) -> bool {
    match (found, wanted) {
        (
            Content::Pool { range, entries },
            Content::Pool {
                range: wanted_range,
                entries: wanted,
            },
        ) => {
            range == wanted_range
                && entries
                    .iter()
                    .all(|(key, found)| wanted.get(key) == Some(found))
        }
        (Content::Reservation(found), Content::Reservation(wanted)) => found == wanted,
        _ => false,
    }
}

/// Whether something that is wanted is missing or has another value.
fn lacks(found: &Content<'_>, wanted: &Content<'_>) -> bool {
    match (found, wanted) {
        (
            Content::Pool { range, entries },
            Content::Pool {
                range: wanted_range,
                entries: wanted,
            },
        ) => {
            range != wanted_range
                || wanted.iter().any(|(key, wanted)| {
                    entries
                        .get(key)
                        .is_none_or(|found| entry_lacks(found, wanted))
                })
        }
        (Content::Reservation(found), Content::Reservation(wanted)) => entry_lacks(found, wanted),
        _ => true,
    }
}

pub(super) fn entry_lacks(found: &Entry<'_>, wanted: &Entry<'_>) -> bool {
    let wanted = wanted.fields("id").into_iter();
    let pairs = wanted.zip(found.fields("id"));
    pairs
        .filter(|((_, wanted), _)| wanted.is_some())
        .any(|((_, wanted), (_, found))| wanted != found)
}

/// What is there and not wanted.
fn surplus(wanted: &Content<'_>, found: &Content<'_>) -> Vec<Surplus> {
    match (wanted, found) {
        (
            Content::Pool { entries, .. },
            Content::Pool {
                entries: found_entries,
                ..
            },
        ) => found_entries
            .iter()
            .flat_map(|(key, found)| match entries.get(key) {
                None => vec![Surplus::Entry((*key).to_owned())],
                Some(wanted) => surplus_fields(wanted, found, "id")
                    .map(|field| Surplus::EntryField((*key).to_owned(), field))
                    .collect(),
            })
            .collect(),
        (Content::Reservation(wanted), Content::Reservation(found)) => {
            surplus_fields(wanted, found, "containerid")
                .map(Surplus::Field)
                .collect()
        }
        _ => Vec::new(),
    }
}

fn surplus_fields(
    wanted: &Entry<'_>,
    found: &Entry<'_>,
    id_name: &'static str,
) -> impl Iterator<Item = &'static str> {
    let pairs = wanted
        .fields(id_name)
        .into_iter()
        .zip(found.fields(id_name));
    pairs.filter_map(|((name, wanted), (_, found))| {
        (wanted.is_none() && found.is_some()).then_some(name)
    })
}

impl ObjectWrite<'_> {
    /// The body of the request, unless it is a deletion.
    #[must_use]
    pub fn body(&self, namespace: &str) -> Option<serde_json::Value> {
        let version = self
            .guard
            .as_ref()
            .map(|guard| guard.resource_version.as_str());
        match &self.action {
            Action::Apply(object) => Some(body::apply(namespace, &self.key, object, version)),
            Action::Remove(surplus) => {
                let version = version.unwrap_or_default();
                Some(body::removal(self.key.kind, surplus, version))
            }
            Action::Delete => None,
        }
    }
}
