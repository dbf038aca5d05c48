//! Wrong decisions, and wrong parts around a right one, that the simulation must catch.

use std::collections::BTreeMap;

use ipledger_sync::diff::{
    Absence, ContainerState, Hold, HoldKey, NameList, Node, Observations, Phase, PodName, PodRead,
    Read, Settings,
};
use jiff::Timestamp;

use crate::variant::{Decision, Fails, Freed, Variant, View, by_evidence, decide};

/// What the right rules make of other inputs.
fn altered(
    view: &View,
    alter: impl FnOnce(&mut Vec<Hold>, &mut Observations, &mut Settings),
) -> Decision {
    let (mut holds, mut seen) = (view.holds.clone(), view.seen.clone());
    let mut settings = view.settings.clone();
    alter(&mut holds, &mut seen, &mut settings);
    decide(&holds, &seen, &settings, view.now)
}

/// The right decision, but other holds are released for its own.
fn redirected<'a>(view: &'a View, to: impl Fn(&Hold) -> Vec<&'a Hold>) -> Decision {
    let mut decision = by_evidence(view);
    let found = decision.releases.iter().flat_map(|freed| {
        let evidence = freed
            .evidence
            .as_ref()
            .expect("the right decision has evidence");
        to(&evidence.hold)
    });
    let freed = |hold: &Hold| Freed {
        key: hold.key.clone(),
        any_step: false,
        evidence: None,
    };
    decision.releases = found.map(freed).collect();
    decision
}

fn name(hold: &Hold) -> Option<&PodName> {
    hold.owner.as_ref().map(|owner| &owner.pod)
}

fn each_node(seen: &mut Observations, change: impl Fn(&mut Node)) {
    for read in seen.nodes.values_mut() {
        if let Read::Found(_, node) = read {
            change(node);
        }
    }
}

/// A read that shows what a list does.
fn as_listed(at: Timestamp, uid: Option<&String>, get: &Read<ipledger_sync::diff::Pod>) -> PodRead {
    let found = match get {
        Read::Found(_, pod) => Some(pod),
        _ => None,
    };
    PodRead {
        get: match (uid, found) {
            (None, _) => Read::NotFound(at),
            (Some(uid), Some(pod)) if pod.uid == *uid => Read::Found(at, pod.clone()),
            (Some(_), _) => Read::Blind(ipledger_sync::diff::Blind::NotRead),
        },
        list: Some(NameList {
            at,
            resource_version: "7001".to_owned(),
            uid: uid.cloned(),
        }),
    }
}

pub(crate) static MUTANTS: &[Variant] = &[
    Variant::wrong("judges by name", |view| {
        redirected(view, |dead| {
            view.again
                .iter()
                .filter(|hold| name(hold) == name(dead))
                .collect()
        })
    }),
    Variant::wrong("judges by position in a list", |view| {
        redirected(view, |dead| {
            let position = view.holds.iter().position(|hold| hold.key == dead.key);
            position
                .and_then(|position| view.again.get(position))
                .into_iter()
                .collect()
        })
    }),
    Variant::wrong("trusts an empty list", |view| {
        altered(view, |_, seen, _| {
            for read in seen.pods.values_mut() {
                if let Some(list) = read.list.clone().filter(|list| list.uid.is_none()) {
                    *read = as_listed(list.at, None, &read.get);
                }
            }
        })
    }),
    Variant::wrong("skips the direct read", |view| {
        altered(view, |_, seen, _| {
            for (name, read) in &mut seen.pods {
                *read = as_listed(view.now, view.cached.get(name), &read.get);
            }
        })
    }),
    Variant::wrong("trusts the direct read alone", |view| {
        altered(view, |_, seen, _| {
            for read in seen.pods.values_mut() {
                if let Some(list) = &mut read.list {
                    list.uid = match &read.get {
                        Read::Found(_, pod) => Some(pod.uid.clone()),
                        _ => None,
                    };
                }
            }
        })
    }),
    Variant::wrong("compares the address only", |view| {
        let mut decision = by_evidence(view);
        decision
            .releases
            .iter_mut()
            .for_each(|freed| freed.any_step = true);
        decision
    }),
    Variant::wrong("remembers by address only", |view| {
        let mut decision = altered(view, |holds, seen, _| {
            for hold in holds {
                let same = |key: &&HoldKey| {
                    (&key.space, key.address) == (&hold.key.space, hold.key.address)
                };
                let old = seen.absences.keys().find(same).cloned();
                if let Some(absence) = old.and_then(|old| seen.absences.remove(&old)) {
                    seen.absences.insert(hold.key.clone(), absence);
                }
            }
        });
        for (key, absence) in &view.seen.absences {
            decision
                .absences
                .entry(key.clone())
                .or_insert_with(|| absence.clone());
        }
        decision
    }),
    Variant::wrong("has no grace", |view| {
        altered(view, |_, _, settings| settings.grace_seconds = 0)
    }),
    Variant::wrong("goes by the phase alone", |view| {
        altered(view, |_, seen, _| {
            for read in seen.pods.values_mut() {
                if let Read::Found(_, pod) = &mut read.get
                    && matches!(pod.phase, Phase::Failed | Phase::Succeeded)
                {
                    let states = pod.containers.values_mut();
                    states.for_each(|state| *state = ContainerState::Terminated);
                }
            }
        })
    }),
    Variant::wrong("goes by one heartbeat", |view| {
        altered(view, |_, seen, _| {
            each_node(seen, |node| {
                if let Some(heartbeats) = &mut node.heartbeats {
                    heartbeats.unbroken_since = Timestamp::MIN;
                }
            });
        })
    }),
    Variant::wrong("does not wait until the node is heard again", |view| {
        altered(view, |_, seen, _| {
            each_node(seen, |node| {
                if let Some(heartbeats) = &mut node.heartbeats {
                    heartbeats.longest_gap_seconds = 0;
                }
            });
        })
    }),
    Variant::wrong("ignores the node", |view| {
        altered(view, |_, seen, _| {
            seen.nodes
                .values_mut()
                .for_each(|read| *read = Read::NotFound(view.now));
        })
    }),
    Variant::wrong("lets one old read ripen", |view| {
        altered(view, |holds, seen, _| {
            for hold in holds {
                hold.seen_at = Timestamp::MIN;
                let read = name(hold).and_then(|name| seen.pods.get(name));
                if let Some(Read::Found(at, _) | Read::NotFound(at)) = read.map(|read| &read.get) {
                    let since = Absence {
                        since: *at,
                        node_uid: None,
                        finished: None,
                        first_look: None,
                    };
                    seen.absences.entry(hold.key.clone()).or_insert(since);
                }
            }
            for read in seen.pods.values_mut() {
                if let Read::Found(at, _) | Read::NotFound(at) = &mut read.get {
                    *at = view.now;
                }
                read.list.iter_mut().for_each(|list| list.at = view.now);
            }
        })
    }),
    Variant::wrong("trusts the clocks of nodes", |view| {
        altered(view, |_, seen, _| {
            each_node(seen, |node| {
                if let Some(heartbeats) = &mut node.heartbeats {
                    heartbeats.later_than = heartbeats.written_at;
                }
            });
        })
    }),
    Variant::wrong(
        "trusts the database's clock where there is no UID",
        |view| {
            altered(view, |holds, seen, _| {
                for read in seen.pods.values_mut() {
                    if let Read::Found(_, pod) = &mut read.get {
                        pod.node = Some("elsewhere".to_owned());
                    }
                }
                holds.retain(|hold| hold.owner.as_ref().is_some_and(|owner| owner.uid.is_none()));
            })
        },
    ),
    Variant::wrong("compares the UID of a mirror", |view| {
        altered(view, |_, seen, _| {
            for read in seen.pods.values_mut() {
                if let Read::Found(_, pod) = &mut read.get {
                    pod.mirror_of = pod.mirror_of.take().map(|_| pod.uid.clone());
                }
            }
        })
    }),
    Variant::wrong("thinks that a static pod stops with its mirror", |view| {
        // By taking its UID for one that the API server made.
        let made = |uid: &mut String| uid.insert(8, '-');
        altered(view, |holds, seen, _| {
            let owners = holds.iter_mut().filter_map(|hold| hold.owner.as_mut());
            owners
                .filter_map(|owner| owner.uid.as_mut())
                .filter(|uid| uid.len() == 32)
                .for_each(made);
            for read in seen.pods.values_mut() {
                if let Read::Found(_, pod) = &mut read.get {
                    pod.mirror_of.iter_mut().for_each(made);
                }
            }
        })
    }),
    Variant::wrong("judges the holds of other clusters", |view| {
        altered(view, |holds, seen, _| {
            holds
                .iter_mut()
                .for_each(|hold| hold.cluster = seen.cluster.name().to_owned());
        })
    }),
    Variant {
        checks_identity: false,
        ..Variant::wrong("does not check which cluster answers", by_evidence)
    },
    Variant {
        sends_tokens: false,
        ..Variant::wrong("has no order tokens", by_evidence)
    },
    Variant {
        notes_boots_with_events: true,
        ..Variant::wrong("notes boots with applied events only", by_evidence)
    },
    Variant {
        fails: Fails::Stuck,
        ..Variant::wrong("remembers nothing", |view| Decision {
            absences: BTreeMap::new(),
            ..by_evidence(view)
        })
    },
    Variant {
        fails: Fails::Stuck,
        ..Variant::wrong("never looks a second time", |view| {
            let mut decision = by_evidence(view);
            decision
                .absences
                .values_mut()
                .for_each(|absence| absence.first_look = None);
            decision
        })
    },
];
