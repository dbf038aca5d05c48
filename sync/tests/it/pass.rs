//! A whole pass: S2, the unusual share, memory, the cluster's identity, and what is stored.

use std::collections::BTreeMap;

use ipledger_sync::diff::{
    Blind, BoundCluster, ClusterError, ContainerState, ContainersGone, Corrections, Evidence, Hold,
    KeepReason, Observations, Phase, Pod, PodRead, Read, Settings, WaitReason, diff,
};

use crate::case::{cluster, hold, list, node, pod, pod_name, t, text};

/// No pod is found, the node is heard; read at `at`, after an earlier pass.
fn look(pass: &str, at: i64, before: &Corrections) -> Observations {
    let gone = read(Read::NotFound(t(at)), at, None);
    let pods = (0..50).map(|i| (pod_name(&format!("web-{i}")), gone.clone()));
    Observations {
        pass: pass.to_owned(),
        cluster: cluster(at),
        pods: pods.collect(),
        nodes: BTreeMap::from([("n1".to_owned(), Read::Found(t(at), node(0, at)))]),
        absences: before.absences.clone(),
    }
}

fn read(get: Read<Pod>, at: i64, listed: Option<&str>) -> PodRead {
    let list = list(at, listed);
    PodRead { get, list }
}

/// `web-0` is there with this UID.
fn find(seen: &mut Observations, uid: &str, at: i64) {
    let living = pod(uid, Phase::Running, &[ContainerState::Running]);
    let read = read(Read::Found(t(at), living), at, Some(uid));
    seen.pods.insert(pod_name("web-0"), read);
}

fn holds(count: u8) -> Vec<Hold> {
    let hold = |i| hold(i, &format!("web-{i}"), text("a"), 90);
    (0..count).map(hold).collect()
}

fn decide(holds: &[Hold], seen: &Observations, at: i64) -> Corrections {
    diff(holds, seen, &Settings::default(), t(at))
}

/// The pass that sees the absence first.
fn first_pass(holds: &[Hold]) -> Corrections {
    let first = decide(holds, &look("p1", 110, &Corrections::default()), 110);
    assert_eq!(
        (first.releases.len(), first.absences.len()),
        (0, holds.len())
    );
    first
}

/// And one after the grace.
fn second_pass(holds: &[Hold]) -> Corrections {
    decide(holds, &look("p2", 200, &first_pass(holds)), 200)
}

#[test]
fn of_two_holds_with_one_podref_only_the_dead_one_goes() {
    let dead = hold(78, "web-0", text("a"), 90);
    let reborn = hold(79, "web-0", text("b"), 95);
    let mut seen = look("p2", 200, &first_pass(std::slice::from_ref(&dead)));
    find(&mut seen, "b", 200);
    let corrections = decide(&[dead.clone(), reborn.clone()], &seen, 200);
    assert_eq!(
        corrections,
        decide(&[reborn.clone(), dead.clone()], &seen, 200)
    );
    let released: Vec<_> = corrections.releases.iter().map(|e| &e.hold.key).collect();
    assert_eq!(released, [&dead.key]);
    assert_eq!(corrections.kept[&reborn.key], KeepReason::PodLives);
}

#[test]
fn an_unusual_share_waits_for_a_second_look() {
    let holds = holds(50);
    let withheld = second_pass(&holds);
    assert_eq!((withheld.releases.len(), withheld.withheld.len()), (0, 50));
    let second_look = (t(200), WaitReason::SecondLook);
    assert!(withheld.waiting.values().all(|wait| *wait == second_look));

    let releases = |seen: &Observations| decide(&holds, seen, 260).releases.len();
    let later = || look("p3", 260, &withheld);
    assert_eq!(releases(&look("p2", 260, &withheld)), 0, "the same pass");
    assert_eq!(releases(&look("p3", 200, &withheld)), 0, "the same reads");
    let cluster = cluster(200);
    assert_eq!(
        releases(&Observations { cluster, ..later() }),
        0,
        "the old identity"
    );
    let Observations { pods, nodes, .. } = look("p3", 200, &withheld);
    assert_eq!(
        releases(&Observations { pods, ..later() }),
        0,
        "the old reads of the pods"
    );
    assert_eq!(
        releases(&Observations { nodes, ..later() }),
        0,
        "the old read of the node"
    );
    let mut seen = later();
    seen.pods.get_mut(&pod_name("web-7")).unwrap().get = Read::Blind(Blind::TimedOut);
    assert_eq!(
        releases(&seen),
        49,
        "all but the one that was not seen again"
    );
    assert_eq!(releases(&later()), 50);
}

#[test]
fn a_usual_share_goes_at_once() {
    assert_eq!(
        second_pass(&holds(9)).releases.len(),
        9,
        "nine are no share"
    );
    assert_eq!(second_pass(&holds(10)).releases.len(), 0);
    let mut many = holds(48);
    for hold in &mut many[11..] {
        hold.owner.as_mut().unwrap().pod = pod_name("unread");
    }
    let first = decide(&many, &look("p1", 110, &Corrections::default()), 110);
    let seen = look("p2", 200, &first);
    assert_eq!(decide(&many, &seen, 200).releases.len(), 11, "22 percent");
    for hold in &mut many[44..] {
        hold.cluster = "east".to_owned();
    }
    assert_eq!(
        decide(&many, &seen, 200).releases.len(),
        0,
        "25 percent of the cluster's 44"
    );
}

#[test]
fn memory_outlives_failed_reads_and_not_the_sight_of_the_pod() {
    let mut holds = holds(1);
    let first = first_pass(&holds);
    let mut seen = look("p2", 150, &first);
    seen.pods.clear();
    assert_eq!(decide(&holds, &seen, 150).absences, first.absences);
    find(&mut seen, "a", 150);
    assert!(decide(&holds, &seen, 150).absences.is_empty());
    holds[0].key.step += 2;
    let next = decide(&holds, &look("p2", 200, &first), 200);
    assert_eq!(next.waiting[&holds[0].key], (t(245), WaitReason::Grace));
}

#[test]
fn what_a_pass_saw_of_pod_and_node_is_proof_in_the_next() {
    let holds = holds(1);
    let mut seen = look("p1", 110, &Corrections::default());
    let ended = pod("a", Phase::Failed, &[ContainerState::Terminated]);
    let ended = read(Read::Found(t(110), ended), 110, Some("a"));
    seen.pods.insert(pod_name("web-0"), ended);
    let first = decide(&holds, &seen, 110);
    let mut seen = look("p2", 200, &first);
    let mut new = node(190, 200);
    new.uid = "n1-new".to_owned();
    seen.nodes.insert("n1".to_owned(), Read::Found(t(200), new));
    let proofs = &decide(&holds, &seen, 200).releases[0].containers_gone;
    assert_eq!(
        *proofs,
        [ContainersGone::Terminated, ContainersGone::NodeReplaced]
    );
}

#[test]
fn contradicting_holds_are_left_alone() {
    let mut holds = holds(1);
    holds.push(hold(0, "web-1", text("b"), 90));
    let corrections = decide(&holds, &look("p1", 200, &Corrections::default()), 900);
    assert_eq!(corrections.kept[&holds[0].key], KeepReason::ShownTwice);
}

#[test]
fn only_the_bound_cluster_is_judged() {
    let verify = |bound, found| BoundCluster::verify("prod", bound, found, t(0));
    assert_eq!(verify(Some("k"), "k").unwrap().name(), "prod");
    let other = verify(Some("k"), "x").unwrap_err();
    assert_eq!(other.kind(), "another_cluster");
    let words = "cluster prod is bound to kube-system UID k, but x answers; use its own kubeconfig";
    assert_eq!(other.to_string(), words);
    let unbound = ClusterError::NotBound("prod".to_owned());
    assert_eq!(unbound.kind(), "cluster_not_bound");
    assert_eq!(verify(None, "k").unwrap_err(), unbound);
    assert_eq!(verify(Some(""), "").unwrap_err(), unbound);
}

#[test]
fn evidence_can_be_judged_from_its_json() {
    let released = second_pass(&holds(1)).releases;
    let json = serde_json::to_value(&released[0]).unwrap();
    let shown = [
        "/hold/step",
        "/rules",
        "/observation/cluster/uid",
        "/observation/pod/get",
    ]
    .map(|path| json.pointer(path).unwrap().to_string());
    assert_eq!(
        shown,
        [
            "4",
            "2",
            r#""k""#,
            r#"{"not_found":"1970-01-01T00:03:20Z"}"#
        ]
    );
    let mut read: Evidence = serde_json::from_value(json).unwrap();
    assert!(read == released[0] && read.follows_from_its_reads());
    read.observation.pod.get = Read::Blind(Blind::Forbidden);
    assert!(!read.follows_from_its_reads());
}
