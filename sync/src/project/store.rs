//! The stored objects, as watches or a list show them.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use kube::runtime::watcher;

use super::plan::StoredObjects;
use super::stored::{Stored, key_of};
use super::{ObjectKey, ObjectKind};

/// What is known of the stored objects. Much of what an object carries is dropped at once: 100,000
/// reservations would not fit otherwise.
#[derive(Debug, Default)]
pub struct ObjectStore {
    objects: StoredObjects,
    /// Objects that were seen there as this program's own, with their UIDs.
    written: BTreeMap<ObjectKey, String>,
    /// What a list that is under way has shown.
    listing: BTreeMap<ObjectKind, BTreeSet<ObjectKey>>,
    /// Kinds that were listed once.
    complete: BTreeSet<ObjectKind>,
}

impl ObjectStore {
    /// Whether both kinds were listed once. Before that, an object that is not in here may exist.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete.len() == 2
    }

    /// What is stored.
    #[must_use]
    pub fn objects(&self) -> &StoredObjects {
        &self.objects
    }

    /// UID of an object of this program's own, as it was seen last.
    #[must_use]
    pub fn written_uid(&self, key: &ObjectKey) -> Option<&str> {
        self.written.get(key).map(String::as_str)
    }

    /// Takes an event of a watch in. `true` if anything that plans depend on is another now.
    pub fn take(&mut self, kind: ObjectKind, event: &watcher::Event<DynamicObject>) -> bool {
        match event {
            watcher::Event::Apply(object) => self.put(kind, object),
            watcher::Event::Delete(object) => {
                let key = key_of(kind, object);
                let uid = object.metadata.uid.as_deref();
                match self.objects.get(&key) {
                    Some(stored) if Some(stored.uid.as_str()) == uid => self.remove(&key),
                    _ => false,
                }
            }
            watcher::Event::Init => {
                self.listing.insert(kind, BTreeSet::new());
                false
            }
            watcher::Event::InitApply(object) => {
                let key = key_of(kind, object);
                self.listing.entry(kind).or_default().insert(key);
                self.put(kind, object)
            }
            watcher::Event::InitDone => self.listed(kind),
        }
    }

    /// Takes an object in, unless a later version of it is known.
    pub fn put(&mut self, kind: ObjectKind, object: &DynamicObject) -> bool {
        let key = key_of(kind, object);
        let stored = Stored::read(kind, object);
        if let Some(known) = self.objects.get(&key)
            && known.uid == stored.uid
            && !is_later(&stored, known)
        {
            return false;
        }
        if stored.digest.is_some() {
            self.written.insert(key.clone(), stored.uid.clone());
        }
        let content_differs = self.objects.get(&key).is_none_or(|known| {
            known.content != stored.content
                || known.digest != stored.digest
                || known.omitted != stored.omitted
        });
        self.objects.insert(key, stored);
        content_differs
    }

    /// Takes an object out that is not there any more.
    pub fn remove(&mut self, key: &ObjectKey) -> bool {
        self.objects.remove(key).is_some()
    }

    /// Forgets that an object was ever there: it is not wanted any more.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.written.remove(key);
    }

    fn listed(&mut self, kind: ObjectKind) -> bool {
        let listed = self.listing.remove(&kind).unwrap_or_default();
        let before = self.objects.len();
        self.objects
            .retain(|key, _| key.kind != kind || listed.contains(key));
        let first = self.complete.insert(kind);
        first || self.objects.len() != before
    }

    /// Names of own objects that are neither stored nor wanted are of no use any more.
    pub fn forget_unwanted(&mut self, is_wanted: impl Fn(&ObjectKey) -> bool) {
        let objects = &self.objects;
        self.written
            .retain(|key, _| objects.contains_key(key) || is_wanted(key));
    }
}

/// Resource versions of one object are compared as numbers where they are numbers.
fn is_later(new: &Stored, known: &Stored) -> bool {
    let number = |stored: &Stored| stored.resource_version.parse::<u128>();
    match (number(new), number(known)) {
        (Ok(new), Ok(known)) => new > known,
        _ => new.resource_version != known.resource_version,
    }
}
