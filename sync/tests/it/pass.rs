//! A whole pass: S2, the unusual share, memory, the cluster's identity, and what is stored.

use std::collections::BTreeMap;

use ipledger_sync::diff::{
    Blind, BoundCluster, ClusterError, ContainerState, Corrections, Evidence, Hold, KeepReason,
    Observations, Phase, PodRead, Read, Settings, WaitReason, diff,
};

use crate::case::{cluster, hold, list, node, pod, pod_name, t, text};

/// Nothing of `holds` is found, its node is heard; read at `at` after an earlier pass.
fn look(pass: &str, at: i64, before: &Corrections) -> Observations {
    let gone = PodRead {
        get: Read::NotFound(t(at)),
        list: list(at, None),
    };
    let pods = (0..50).map(|i| (pod_name(&format!("web-{i}")), gone.clone()));
    Observations {
        pass: pass.to_owned(),
        cluster: cluster(at),
        pods: pods.collect(),
        nodes: BTreeMap::from([("n1".to_owned(), Read::Found(t(at), node(0, at)))]),
        absences: before.absences.clone(),
    }
}

fn holds(count: u8) -> Vec<Hold> {
    (0..count)
        .map(|i| hold(i, &format!("web-{i}"), text("a"), 90))
        .collect()
}

/// A pass at `at`, and the one that saw the absence first.
fn second_pass(holds: &[Hold], at: i64) -> Corrections {
    let first = diff(
        holds,
        &look("p1", 110, &Corrections::default()),
        &Settings::default(),
        t(110),
    );
    assert_eq!(
        (first.releases.len(), first.absences.len()),
        (0, holds.len())
    );
    diff(holds, &look("p2", at, &first), &Settings::default(), t(at))
}

#[test]
fn of_two_holds_with_one_podref_only_the_dead_one_goes() {
    let dead = hold(78, "web-0", text("a"), 90);
    let reborn = hold(79, "web-0", text("b"), 95);
    let mut seen = look("p2", 200, &second_pass(std::slice::from_ref(&dead), 110));
    let living = pod("b", Phase::Running, &[ContainerState::Running]);
    let read = PodRead {
        get: Read::Found(t(200), living),
        list: list(200, Some("b")),
    };
    seen.pods.insert(pod_name("web-0"), read);
    let both = [dead.clone(), reborn.clone()];
    let turned = [reborn.clone(), dead.clone()];
    let corrections = diff(&both, &seen, &Settings::default(), t(200));
    assert_eq!(
        corrections,
        diff(&turned, &seen, &Settings::default(), t(200))
    );
    let released: Vec<_> = corrections.releases.iter().map(|e| &e.hold.key).collect();
    assert_eq!(released, [&dead.key]);
    assert_eq!(corrections.kept[&reborn.key], KeepReason::PodLives);
}

#[test]
fn an_unusual_share_waits_for_a_second_look() {
    let holds = holds(50);
    let settings = Settings::default();
    let withheld = second_pass(&holds, 200);
    assert_eq!((withheld.releases.len(), withheld.withheld.len()), (0, 50));
    assert!(
        withheld
            .waiting
            .values()
            .all(|wait| *wait == (t(200), WaitReason::SecondLook))
    );
    let releases = |seen: &Observations| diff(&holds, seen, &settings, t(260)).releases.len();
    assert_eq!(releases(&look("p2", 260, &withheld)), 0, "the same pass");
    assert_eq!(releases(&look("p3", 200, &withheld)), 0, "the same reads");
    let mut seen = look("p3", 260, &withheld);
    seen.cluster = cluster(200);
    assert_eq!(releases(&seen), 0, "the identity was not read again");
    let mut seen = look("p3", 260, &withheld);
    seen.nodes = look("p3", 200, &withheld).nodes;
    assert_eq!(releases(&seen), 0, "the node was not read again");
    let mut seen = look("p3", 260, &withheld);
    seen.pods.get_mut(&pod_name("web-7")).unwrap().get = Read::Blind(Blind::TimedOut);
    assert_eq!(
        releases(&seen),
        49,
        "all but the one that was not seen again"
    );
    assert_eq!(releases(&look("p3", 260, &withheld)), 50);
}

#[test]
fn a_usual_share_goes_at_once() {
    assert_eq!(
        second_pass(&holds(9), 200).releases.len(),
        9,
        "nine are no share"
    );
    assert_eq!(second_pass(&holds(10), 200).releases.len(), 0);
    let mut many = holds(48);
    for hold in &mut many[11..] {
        hold.owner.as_mut().unwrap().pod = pod_name("unread");
    }
    let first = diff(
        &many,
        &look("p1", 110, &Corrections::default()),
        &Settings::default(),
        t(110),
    );
    let at_once = |holds: &[Hold]| {
        diff(
            holds,
            &look("p2", 200, &first),
            &Settings::default(),
            t(200),
        )
    };
    assert_eq!(at_once(&many).releases.len(), 11, "22 percent");
    many[44..]
        .iter_mut()
        .for_each(|hold| hold.cluster = "east".to_owned());
    assert_eq!(
        at_once(&many).releases.len(),
        0,
        "25 percent of this cluster's 44"
    );
}

#[test]
fn memory_outlives_failed_reads_and_not_the_sight_of_the_pod() {
    let holds = holds(1);
    let first = second_pass(&holds, 110);
    let mut seen = look("p2", 150, &first);
    seen.pods.clear();
    let blind = diff(&holds, &seen, &Settings::default(), t(150));
    assert_eq!(blind.absences, first.absences);
    let living = pod("a", Phase::Running, &[ContainerState::Running]);
    let read = PodRead {
        get: Read::Found(t(150), living),
        list: None,
    };
    seen.pods.insert(pod_name("web-0"), read);
    assert!(
        diff(&holds, &seen, &Settings::default(), t(150))
            .absences
            .is_empty()
    );
    let mut next_step = holds.clone();
    next_step[0].key.step += 2;
    let next = diff(
        &next_step,
        &look("p2", 200, &first),
        &Settings::default(),
        t(200),
    );
    assert_eq!(next.waiting[&next_step[0].key], (t(245), WaitReason::Grace));
}

#[test]
fn contradicting_holds_are_left_alone() {
    let mut holds = holds(1);
    holds.push(hold(0, "web-1", text("b"), 90));
    let corrections = diff(
        &holds,
        &look("p1", 200, &Corrections::default()),
        &Settings::default(),
        t(900),
    );
    assert_eq!(corrections.kept[&holds[0].key], KeepReason::ShownTwice);
}

#[test]
fn only_the_bound_cluster_is_judged() {
    let verify = |bound, found| BoundCluster::verify("prod", bound, found, t(0));
    assert_eq!(verify(Some("k"), "k").unwrap().name(), "prod");
    let other = verify(Some("k"), "x").unwrap_err();
    assert_eq!(
        (other.kind(), other.to_string()),
        (
            "another_cluster",
            "cluster prod is bound to kube-system UID k, but x answers; use its own kubeconfig"
                .to_owned()
        )
    );
    let unbound = ClusterError::NotBound("prod".to_owned());
    assert_eq!(verify(None, "k").unwrap_err(), unbound);
    assert_eq!(verify(Some(""), "").unwrap_err(), unbound);
    assert_eq!(unbound.kind(), "cluster_not_bound");
}

#[test]
fn evidence_can_be_judged_from_its_json() {
    let released = second_pass(&holds(1), 200).releases;
    let json = serde_json::to_value(&released[0]).unwrap();
    assert_eq!(json["hold"]["step"], 4);
    assert_eq!(json["rules"], 1);
    assert_eq!(json["observation"]["cluster"]["uid"], "k");
    assert_eq!(
        json["observation"]["pod"]["get"]["not_found"],
        "1970-01-01T00:03:20Z"
    );
    assert_eq!(
        json["observation"]["pod"]["list"]["resource_version"],
        "7001"
    );
    assert_eq!(
        json["containers_gone"],
        serde_json::json!(["node_heartbeat"])
    );
    let mut read: Evidence = serde_json::from_value(json).unwrap();
    assert!(read == released[0] && read.follows_from_its_reads());
    read.observation.pod.get = Read::Blind(Blind::Forbidden);
    assert!(!read.follows_from_its_reads());
}
