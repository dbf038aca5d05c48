//! One hold and all that is known about it, in seconds of a virtual clock.

use ipledger_sync::diff::{
    Absence, BoundCluster, ContainerState, FinishedPod, HeartbeatSource, Heartbeats, Hold, HoldKey,
    Judgement, NameList, Node, Observation, Owner, Phase, Pod, PodName, PodRead, Read, Settings,
    judge,
};
use jiff::Timestamp;

pub(crate) fn t(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(crate) fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) hold: Hold,
    pub(crate) seen: Observation,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
}

impl Case {
    /// Pod `a` of node `n1`, absent since 150, not found at 200; the node is heard; it is 300.
    pub(crate) fn new() -> Case {
        Case {
            hold: hold(1, "web-0", text("a"), 90),
            seen: Observation {
                pass: "p1".to_owned(),
                cluster: cluster(200),
                pod: PodRead {
                    get: Read::NotFound(t(200)),
                    list: list(200, None),
                },
                node: Read::Found(t(200), node(0, 190)),
                absence: absence(150),
            },
            settings: Settings {
                grace_seconds: 30,
                ..Settings::default()
            },
            now: t(300),
        }
    }

    pub(crate) fn judge(&self) -> Judgement {
        judge(&self.hold, &self.seen, &self.settings, self.now)
    }

    pub(crate) fn owner(&mut self) -> &mut Owner {
        self.hold.owner.as_mut().unwrap()
    }

    /// The GET found this pod, and the LIST too.
    pub(crate) fn find(&mut self, pod: Pod) {
        self.seen.pod.list = list(200, Some(&pod.uid));
        self.seen.pod.get = Read::Found(t(200), pod);
    }

    /// Changes the node that was read.
    pub(crate) fn node(&mut self, change: impl FnOnce(&mut Node)) {
        if let Read::Found(_, node) = &mut self.seen.node {
            change(node);
        }
    }

    /// The node is not heard, and has been unreachable since then.
    pub(crate) fn cut_off(&mut self, since: i64) {
        self.node(|node| {
            node.heartbeats = None;
            node.unreachable_since = Some(t(since));
        });
    }
}

pub(crate) fn hold(address: u8, pod: &str, uid: Option<String>, allocated_at: i64) -> Hold {
    Hold {
        key: HoldKey {
            space: "prod".to_owned(),
            address: [10, 0, 0, address].into(),
            step: 4,
        },
        cluster: "prod".to_owned(),
        owner: Some(Owner {
            pod: pod_name(pod),
            uid,
            node: text("n1"),
        }),
        allocated_at: t(allocated_at),
        seen_at: t(100),
    }
}

pub(crate) fn pod_name(name: &str) -> PodName {
    PodName {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

pub(crate) fn cluster(read_at: i64) -> BoundCluster {
    BoundCluster::verify("prod", Some("k"), "k", t(read_at)).unwrap()
}

pub(crate) fn list(at: i64, uid: Option<&str>) -> Option<NameList> {
    Some(NameList {
        at: t(at),
        resource_version: "7001".to_owned(),
        uid: uid.map(str::to_owned),
    })
}

pub(crate) fn pod(uid: &str, phase: Phase, states: &[ContainerState]) -> Pod {
    let names = ["app", "sidecar"].map(str::to_owned);
    Pod {
        uid: uid.to_owned(),
        mirror_of: None,
        resource_version: "6001".to_owned(),
        node: text("n1"),
        created_at: t(80),
        terminating_until: None,
        phase,
        containers: names.into_iter().zip(states.iter().copied()).collect(),
    }
}

pub(crate) fn node(unbroken_since: i64, later_than: i64) -> Node {
    Node {
        uid: "n1-uid".to_owned(),
        resource_version: "5001".to_owned(),
        heartbeats: Some(Heartbeats {
            source: HeartbeatSource::Lease,
            written_at: t(later_than),
            unbroken_since: t(unbroken_since),
            later_than: t(later_than),
        }),
        out_of_service: false,
        unreachable_since: None,
    }
}

pub(crate) fn absence(since: i64) -> Option<Absence> {
    Some(Absence {
        since: t(since),
        node_uid: text("n1-uid"),
        finished: None,
        first_look: None,
    })
}

/// The memory of a pass that saw this pod with all containers terminated.
pub(crate) fn finished(uid: &str) -> Option<Absence> {
    let pod = pod(uid, Phase::Succeeded, &[ContainerState::Terminated]);
    absence(150).map(|absence| Absence {
        finished: Some(FinishedPod { at: t(150), pod }),
        ..absence
    })
}
