//! What the watches of pods show. It says which holds need no look, and is no evidence.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event;

use super::pods::{MIRROR, created_at};
use crate::diff::{Hold, PodName};

/// What is kept of a pod: little, since there may be 100,000.
#[derive(Debug)]
struct Brief {
    uid: Box<str>,
    mirror_of: Option<Box<str>>,
    created_at: Timestamp,
}

/// The pods of one watch by name, and the new ones while it lists anew.
#[derive(Debug, Default)]
struct Pods {
    shown: HashMap<PodName, Brief>,
    listing: Option<HashMap<PodName, Brief>>,
}

/// All pods, and those that have ended by their phase.
#[derive(Debug, Default)]
pub struct PodIndex {
    all: RwLock<Pods>,
    ended: RwLock<Pods>,
}

/// Which watch an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PodWatch {
    All,
    Ended,
}

/// What the watches show of the pod behind a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// The pod is there and has not ended.
    Alive,
    /// It is not there, or has ended: worth a look.
    Otherwise,
    /// There is no pod behind the hold that could be looked at.
    NoOwner,
}

impl PodIndex {
    /// Takes an event in. Says whether a pod went or ended, which is worth a pass.
    pub(crate) fn apply(&self, watch: PodWatch, event: Event<PartialObjectMeta<Pod>>) -> bool {
        let mut pods = write(self.pods(watch));
        match event {
            Event::Init => pods.listing = Some(HashMap::new()),
            Event::InitApply(object) => {
                if let Some((name, brief)) = brief(object) {
                    let listing = pods.listing.get_or_insert_default();
                    listing.insert(name, brief);
                }
            }
            Event::InitDone => {
                pods.shown = pods.listing.take().unwrap_or_default();
                return true;
            }
            Event::Apply(object) => {
                let before = brief(object).map(|(name, brief)| {
                    let uid = brief.uid.clone();
                    (pods.shown.insert(name, brief), uid)
                });
                return match before {
                    // The name of one that went without a word.
                    Some((Some(before), uid)) => before.uid != uid,
                    Some((None, _)) => watch == PodWatch::Ended,
                    None => false,
                };
            }
            Event::Delete(object) => {
                let gone = brief(object).and_then(|(name, _)| pods.shown.remove(&name));
                return gone.is_some() && watch == PodWatch::All;
            }
        }
        false
    }

    /// What is shown of the pod behind a hold.
    #[must_use]
    pub fn shows(&self, hold: &Hold) -> Shown {
        let Some(owner) = &hold.owner else {
            return Shown::NoOwner;
        };
        let is_own = |brief: &Brief| match owner.uid.as_deref() {
            Some(uid) => *brief.uid == *uid || brief.mirror_of.as_deref() == Some(uid),
            None => brief.created_at <= hold.allocated_at,
        };
        let in_watch = |watch| {
            let pods = read(self.pods(watch));
            pods.shown.get(&owner.pod).is_some_and(is_own)
        };
        if in_watch(PodWatch::All) && !in_watch(PodWatch::Ended) {
            Shown::Alive
        } else {
            Shown::Otherwise
        }
    }

    fn pods(&self, watch: PodWatch) -> &RwLock<Pods> {
        match watch {
            PodWatch::All => &self.all,
            PodWatch::Ended => &self.ended,
        }
    }
}

/// `None` for an object without name, namespace or UID, which no API server sends.
fn brief(object: PartialObjectMeta<Pod>) -> Option<(PodName, Brief)> {
    let created_at = created_at(&object.metadata);
    let metadata = object.metadata;
    let mirror_of = metadata.annotations.and_then(|mut all| all.remove(MIRROR));
    let name = PodName {
        namespace: metadata.namespace?,
        name: metadata.name?,
    };
    let brief = Brief {
        uid: metadata.uid?.into_boxed_str(),
        mirror_of: mirror_of.map(String::into_boxed_str),
        created_at,
    };
    Some((name, brief))
}

fn read(pods: &RwLock<Pods>) -> RwLockReadGuard<'_, Pods> {
    pods.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(pods: &RwLock<Pods>) -> RwLockWriteGuard<'_, Pods> {
    pods.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{HoldKey, Owner};

    fn object(name: &str, uid: &str) -> PartialObjectMeta<Pod> {
        serde_json::from_value(serde_json::json!({
            "metadata": {
                "namespace": "default", "name": name, "uid": uid,
                "creationTimestamp": "1970-01-01T00:01:40Z",
                "annotations": {MIRROR: format!("static-of-{uid}")},
            },
        }))
        .unwrap()
    }

    fn hold(name: &str, uid: Option<&str>, allocated_at: i64) -> Hold {
        let pod = PodName {
            namespace: "default".to_owned(),
            name: name.to_owned(),
        };
        Hold {
            key: HoldKey {
                space: "prod".to_owned(),
                address: "10.0.0.1".parse().unwrap(),
                step: 0,
            },
            cluster: "prod".to_owned(),
            owner: Some(Owner {
                pod,
                uid: uid.map(str::to_owned),
                node: None,
            }),
            allocated_at: Timestamp::from_second(allocated_at).unwrap(),
            seen_at: Timestamp::from_second(allocated_at).unwrap(),
        }
    }

    fn index(names: &[(&str, &str)]) -> PodIndex {
        let index = PodIndex::default();
        list(&index, PodWatch::All, names);
        index
    }

    fn list(index: &PodIndex, watch: PodWatch, names: &[(&str, &str)]) {
        assert!(!index.apply(watch, Event::Init));
        for (name, uid) in names {
            assert!(!index.apply(watch, Event::InitApply(object(name, uid))));
        }
        assert!(index.apply(watch, Event::InitDone));
    }

    #[test]
    fn a_pod_is_alive_by_its_uid_or_as_the_mirror_of_it() {
        let index = index(&[("a", "1")]);
        assert_eq!(index.shows(&hold("a", Some("1"), 200)), Shown::Alive);
        assert_eq!(
            index.shows(&hold("a", Some("static-of-1"), 200)),
            Shown::Alive
        );
        assert_eq!(index.shows(&hold("a", Some("2"), 200)), Shown::Otherwise);
        assert_eq!(index.shows(&hold("b", Some("1"), 200)), Shown::Otherwise);
    }

    #[test]
    fn without_a_uid_a_younger_pod_of_the_name_is_worth_a_look() {
        let index = index(&[("a", "1")]);
        assert_eq!(index.shows(&hold("a", None, 100)), Shown::Alive);
        assert_eq!(index.shows(&hold("a", None, 99)), Shown::Otherwise);
        let mut nobody = hold("a", None, 100);
        nobody.owner = None;
        assert_eq!(index.shows(&nobody), Shown::NoOwner);
    }

    #[test]
    fn going_ending_and_rebirth_are_worth_a_pass() {
        let index = index(&[("a", "1"), ("b", "2")]);
        let apply = |watch, event| index.apply(watch, event);
        assert!(!apply(PodWatch::All, Event::Apply(object("a", "1"))));
        assert!(!apply(PodWatch::All, Event::Apply(object("c", "3"))));
        assert!(apply(PodWatch::All, Event::Apply(object("a", "9"))));
        assert!(apply(PodWatch::Ended, Event::Apply(object("b", "2"))));
        assert_eq!(index.shows(&hold("b", Some("2"), 200)), Shown::Otherwise);
        assert!(apply(PodWatch::All, Event::Delete(object("b", "2"))));
        assert!(!apply(PodWatch::Ended, Event::Delete(object("b", "2"))));
        assert_eq!(index.shows(&hold("c", Some("3"), 200)), Shown::Alive);
    }

    #[test]
    fn an_unfinished_list_changes_nothing() {
        let index = index(&[("a", "1")]);
        index.apply(PodWatch::All, Event::Init);
        assert_eq!(index.shows(&hold("a", Some("1"), 200)), Shown::Alive);
        index.apply(PodWatch::All, Event::InitDone);
        assert_eq!(index.shows(&hold("a", Some("1"), 200)), Shown::Otherwise);
    }
}
