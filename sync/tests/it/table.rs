//! Every rule and every forbidden inference, one row each. A row changes [`Case::new`].

use ipledger_sync::diff::Blind::{self, BeforeHold, Forbidden, NotRead, ServerError, TimedOut};
use ipledger_sync::diff::ContainerState::{self, Running, Terminated, Unreported, Waiting};
use ipledger_sync::diff::{Judgement, Phase, Read};

use crate::case::{Case, absence, finished, list, node, pod, t, text};

type Row = (&'static str, fn(&mut Case), &'static str);

#[rustfmt::skip]
const ROWS: &[Row] = &[
    // The pod is gone.
    ("not found", |_| {}, "free NotFound by [NodeHeartbeat]"),
    ("another UID under the name", |c| c.find(living("b")), "free AnotherUid by [NodeHeartbeat]"),
    ("mirror of another static pod", |c| mirror(c, "x", "b"), "free AnotherUid by [NodeHeartbeat]"),
    ("succeeded", |c| { ended(c, Phase::Succeeded, &[Terminated; 2]); unread(c, NotRead) }, "free Finished by [Terminated]"),
    ("failed", |c| { ended(c, Phase::Failed, &[Terminated; 2]); unread(c, NotRead) }, "free Finished by [Terminated]"),
    ("finished, then vanished with its node", |c| { c.seen.absence = finished("a"); c.cut_off(180) }, "free NotFound by [Terminated]"),
    ("terminating, out of service, allowed", |c| terminating(c, 170, true, true), "free TerminatingOnOutOfService by [NodeHeartbeat, NodeOutOfService]"),
    // The pod is there.
    ("running", |c| c.find(living("a")), "keep PodLives"),
    ("pending", |c| ended(c, Phase::Pending, &[Waiting]), "keep PodLives"),
    ("phase unknown", |c| ended(c, Phase::Unknown, &[Terminated]), "keep PodLives"),
    ("between two restarts", |c| ended(c, Phase::Running, &[Terminated; 2]), "keep PodLives"),
    ("static pod behind its mirror", |c| mirror(c, "x", "a"), "keep PodLives"),
    ("forged mirror annotation", |c| mirror(c, "a", "x"), "keep PodLives"),
    ("podgc wrote Failed", |c| ended(c, Phase::Failed, &[Running]), "keep ContainersNotTerminated"),
    ("failed, one container unreported", |c| ended(c, Phase::Failed, &[Terminated, Unreported]), "keep ContainersNotTerminated"),
    ("failed, one container waiting", |c| ended(c, Phase::Failed, &[Terminated, Waiting]), "keep ContainersNotTerminated"),
    ("failed, no container seen", |c| ended(c, Phase::Failed, &[]), "keep ContainersNotTerminated"),
    ("terminating, switch off", |c| terminating(c, 170, true, false), "keep PodLives"),
    ("terminating within its grace", |c| terminating(c, 171, true, true), "keep PodLives"),
    ("terminating, node in service", |c| terminating(c, 170, false, true), "keep PodLives"),
    // Not evidence of anything.
    ("pod not read", |c| c.seen.pod.get = Read::Blind(NotRead), "keep PodUnseen(NotRead)"),
    ("403", |c| c.seen.pod.get = Read::Blind(Forbidden), "keep PodUnseen(Forbidden)"),
    ("time-out", |c| c.seen.pod.get = Read::Blind(TimedOut), "keep PodUnseen(TimedOut)"),
    ("500", |c| c.seen.pod.get = Read::Blind(ServerError), "keep PodUnseen(ServerError)"),
    ("bare 404", |c| c.seen.pod.get = Read::Blind(Blind::Unreadable), "keep PodUnseen(Unreadable)"),
    ("read before the hold was seen", |c| c.seen.pod.get = Read::NotFound(t(99)), "keep PodUnseen(BeforeHold)"),
    ("not found, not listed", |c| c.seen.pod.list = None, "keep NotListed"),
    ("another UID, not listed", |c| { c.find(living("b")); c.seen.pod.list = None }, "keep NotListed"),
    ("list older than the get", |c| c.seen.pod.list = list(199, None), "keep ListDisagrees"),
    ("list from a cache", |c| version(c, "0"), "keep ListDisagrees"),
    ("list without a version", |c| version(c, ""), "keep ListDisagrees"),
    ("list shows a pod, the get did not", |c| c.seen.pod.list = list(200, Some("a")), "keep ListDisagrees"),
    ("get shows a pod, the list does not", |c| { c.find(living("b")); c.seen.pod.list = list(200, None) }, "keep ListDisagrees"),
    ("hold of another cluster", |c| c.hold.cluster = "east".to_owned(), "keep OtherCluster"),
    ("hold without a pod", |c| c.hold.owner = None, "keep NoOwner"),
    // The hold has no UID.
    ("no UID, name gone", |c| c.owner().uid = None, "free NotFound by [NodeHeartbeat]"),
    ("no UID, pod of another node created after the hold", |c| born(c, 151, "n2"), "free CreatedAfterHold by [NodeHeartbeat]"),
    ("no UID, clocks may differ so much", |c| born(c, 150, "n2"), "keep MayBeItsPod"),
    ("no UID, newer by the clocks, same node", |c| born(c, 9_000, "n1"), "keep MayBeItsPod"),
    ("no UID, newer pod without a node", |c| { born(c, 151, "n2"); unscheduled(c) }, "keep MayBeItsPod"),
    ("no UID, mirror written anew", |c| { born(c, 9_000, "n1"); mirrored(c) }, "keep MayBeItsPod"),
    ("no UID, pod older than the hold", |c| born(c, 80, "n2"), "keep MayBeItsPod"),
    ("no UID, finished: an older pod may run", |c| { ended(c, Phase::Failed, &[Terminated]); c.owner().uid = None }, "keep MayBeItsPod"),
    ("no UID, name gone, node cut off", |c| { c.owner().uid = None; c.cut_off(180) }, "wait 540 NodeTimeout"),
    ("no UID, newer pod, node cut off", |c| { born(c, 151, "n2"); c.cut_off(180) }, "wait 540 NodeTimeout"),
    ("no UID, no node", |c| { c.owner().uid = None; c.owner().node = None }, "keep NodeUnknown"),
    // Its containers are gone too.
    ("node deleted", |c| c.seen.node = Read::NotFound(t(200)), "free NotFound by [NodeDeleted]"),
    ("node replaced", |c| { c.cut_off(180); c.node(|n| n.uid = "n1-new".to_owned()) }, "free NotFound by [NodeReplaced]"),
    ("node out of service", |c| { c.cut_off(180); c.node(|n| n.out_of_service = true) }, "free NotFound by [NodeOutOfService]"),
    ("node unreachable for too long", |c| timed_out(c, 201), "free NotFound by [NodeUnreachable] timed out only"),
    ("node unreachable, not longer", |c| timed_out(c, 200), "keep ContainersMayRun"),
    ("an old read of the node does not ripen", |c| { timed_out(c, 120); c.now = t(9_000) }, "keep ContainersMayRun"),
    ("node unreachable, time-out never", |c| { timed_out(c, 900); c.settings.unreachable_node_timeout_seconds = None }, "keep ContainersMayRun"),
    ("time-out and taint", |c| { timed_out(c, 201); c.node(|n| n.out_of_service = true) }, "free NotFound by [NodeOutOfService, NodeUnreachable]"),
    ("node silent", |c| c.node(|n| n.heartbeats = None), "keep ContainersMayRun"),
    ("heard for less than a grace", |c| c.seen.node = Read::Found(t(200), node(0, 179)), "keep ContainersMayRun"),
    ("heard for a grace", |c| c.seen.node = Read::Found(t(200), node(0, 180)), "free NotFound by [NodeHeartbeat]"),
    ("node just returned", |c| c.seen.node = Read::Found(t(200), node(161, 190)), "keep ContainersMayRun"),
    ("the node's clock is ahead", |c| { c.seen.node = Read::Found(t(200), node(0, 160)); ahead(c) }, "keep ContainersMayRun"),
    ("node not read", |c| unread(c, NotRead), "keep NodeUnseen(NotRead)"),
    ("node read forbidden", |c| unread(c, Forbidden), "keep NodeUnseen(Forbidden)"),
    ("node read before the hold", |c| c.seen.node = Read::NotFound(t(99)), "keep NodeUnseen(BeforeHold)"),
    ("the deletion of some node", |c| { c.owner().node = None; c.seen.node = Read::NotFound(t(200)) }, "keep NodeUnknown"),
    ("remembered pod had not ended", |c| { c.seen.absence = finished("a"); restart(c); unread(c, NotRead) }, "keep NodeUnseen(NotRead)"),
    ("another pod's end", |c| { c.seen.absence = finished("b"); unread(c, BeforeHold) }, "keep NodeUnseen(BeforeHold)"),
    // A static pod runs without its mirror.
    ("static pod, mirror gone, node heard", |c| c.owner().uid = text(STATIC), "keep ContainersMayRun"),
    ("static pod, mirror gone, node deleted", |c| { c.owner().uid = text(STATIC); c.seen.node = Read::NotFound(t(200)) }, "free NotFound by [NodeDeleted]"),
    ("static pod, another manifest under its name", |c| { c.owner().uid = text(STATIC); mirror(c, "x", "b") }, "free AnotherUid by [NodeHeartbeat]"),
    ("static pod, a mirror of another node", |c| { c.owner().uid = text(STATIC); mirror(c, "x", "b"); found(c, |pod| pod.node = text("n2")) }, "keep ContainersMayRun"),
    ("static pod, a common pod under its name", |c| { c.owner().uid = text(STATIC); c.find(living("b")) }, "keep ContainersMayRun"),
    // The grace.
    ("first seen by this read", |c| { c.seen.absence = None; c.now = t(229) }, "wait 230 Grace"),
    ("an old read of the pod does not ripen", |c| { c.seen.absence = None; c.now = t(9_000) }, "wait 230 Grace"),
    ("seen again a second too early", |c| c.seen.absence = absence(171), "wait 201 Grace"),
    ("grace from the first sight", |c| { c.seen.absence = absence(199); c.now = t(228) }, "wait 229 Grace"),
    ("finished, within grace", |c| { ended(c, Phase::Failed, &[Terminated]); c.now = t(179) }, "wait 180 Grace"),
    ("node deleted, within grace", |c| { c.seen.node = Read::NotFound(t(200)); c.now = t(179) }, "wait 180 Grace"),
    ("clock set back", |c| c.now = t(0), "wait 180 Grace"),
];

/// As a kubelet makes it of a manifest.
const STATIC: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn every_rule_holds() {
    for (name, change, expected) in ROWS {
        let mut case = Case::new();
        change(&mut case);
        assert_eq!(short(&case.judge()), *expected, "{name}");
    }
}

fn short(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Keep(reason) => format!("keep {reason:?}"),
        Judgement::Wait(until, reason) => format!("wait {} {reason:?}", until.as_second()),
        Judgement::Free(evidence) => format!(
            "free {:?} by {:?}{}",
            evidence.pod_gone,
            evidence.containers_gone,
            if evidence.timed_out_only {
                " timed out only"
            } else {
                ""
            }
        ),
    }
}

fn living(uid: &str) -> ipledger_sync::diff::Pod {
    pod(uid, Phase::Running, &[Running, Running])
}

fn ended(case: &mut Case, phase: Phase, states: &[ContainerState]) {
    case.find(pod("a", phase, states));
}

fn mirror(case: &mut Case, uid: &str, of: &str) {
    let mut pod = living(uid);
    pod.mirror_of = text(of);
    case.find(pod);
}

fn terminating(case: &mut Case, until: i64, out_of_service: bool, allowed: bool) {
    let mut pod = living("a");
    pod.terminating_until = Some(t(until));
    case.find(pod);
    case.node(|node| node.out_of_service = out_of_service);
    case.settings.free_terminating_on_out_of_service = allowed;
}

/// The hold is of 90, of node `n1` and has no UID; the pod under its name was created then, there.
fn born(case: &mut Case, created_at: i64, node: &str) {
    let mut pod = living("b");
    pod.created_at = t(created_at);
    pod.node = text(node);
    case.find(pod);
    case.owner().uid = None;
}

/// Changes the pod that was read.
fn found(case: &mut Case, change: impl FnOnce(&mut ipledger_sync::diff::Pod)) {
    if let Read::Found(_, pod) = &mut case.seen.pod.get {
        change(pod);
    }
}

fn unscheduled(case: &mut Case) {
    found(case, |pod| pod.node = None);
}

fn mirrored(case: &mut Case) {
    found(case, |pod| pod.mirror_of = text("c"));
}

fn restart(case: &mut Case) {
    let absence = case.seen.absence.as_mut().unwrap();
    absence.finished.as_mut().unwrap().pod.phase = Phase::Running;
}

fn unread(case: &mut Case, why: Blind) {
    case.seen.node = Read::Blind(why);
}

fn version(case: &mut Case, version: &str) {
    let list = case.seen.pod.list.as_mut().unwrap();
    list.resource_version = version.to_owned();
}

/// The node was read after that many seconds without contact; the time-out is 200.
fn timed_out(case: &mut Case, seconds: i64) {
    case.settings.unreachable_node_timeout_seconds = Some(200);
    case.cut_off(200 - seconds);
}

fn ahead(case: &mut Case) {
    case.node(|node| node.heartbeats.as_mut().unwrap().written_at = t(9_000));
}
