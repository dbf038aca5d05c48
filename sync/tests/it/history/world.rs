//! Two nodes, three pod names, five addresses, and what can happen to them. Times in seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipledger_sync::diff::{
    Absence, Blind, ContainerState, Corrections, Hold, HoldKey, Node, Observations, Phase, PodName,
    PodRead, Read, Settings, diff,
};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::case::{cluster, hold, list, node, pod, pod_name, t};

/// The runtime that starts the last one passes no UID.
const NAMES: [&str; 3] = ["web-0", "web-1", "web-2"];
const NODES: [&str; 2] = ["n1", "n2"];
/// How long a node that is connected takes to stop a deleted pod; less than the grace.
const STOP_SECONDS: i64 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Start,
    Stop,
    StopWithoutDel,
    ForceDelete,
    Finish,
    PodGc,
    /// Queued releases of dead pods arrive.
    LateDel,
    CutOff,
    Return,
    /// Machine switched off, object deleted.
    DeleteNode,
    /// Machine switched off, taint set.
    OutOfService,
}

/// One pass, and what happens between its reads and its releases.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// What, to which pod name, on which node.
    pub(crate) events: Vec<(Event, usize, usize)>,
    pub(crate) seconds: i64,
    /// Bits 0 to 2: the read of that pod name fails; bit 3: lists are empty.
    pub(crate) faults: u8,
}

pub(crate) fn any_step() -> impl Strategy<Value = Step> {
    use Event::{CutOff, DeleteNode, Finish, ForceDelete, LateDel, OutOfService, PodGc, Return};
    use Event::{Start, Stop, StopWithoutDel};
    let ends = [
        ForceDelete,
        ForceDelete,
        Stop,
        StopWithoutDel,
        Finish,
        PodGc,
        LateDel,
        LateDel,
    ];
    let nodes = [CutOff, CutOff, Return, Return, DeleteNode, OutOfService];
    let all: Vec<_> = [Start; 6].into_iter().chain(ends).chain(nodes).collect();
    let event = (prop::sample::select(all), 0..3_usize, 0..2_usize);
    let faults = prop_oneof![3 => Just(0_u8), 1 => 0..16_u8];
    let parts = (prop::collection::vec(event, 0..4), 1..60_i64, faults);
    parts.prop_map(|(events, seconds, faults)| Step {
        events,
        seconds,
        faults,
    })
}

/// What a pass has before it; `corrections` is what the right one makes of it.
pub(crate) struct View {
    pub(crate) holds: Vec<Hold>,
    pub(crate) seen: Observations,
    pub(crate) listed: BTreeSet<PodName>,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) corrections: Corrections,
}

/// A release on its way to the ledger.
pub(crate) struct Freed {
    pub(crate) key: HoldKey,
    pub(crate) whatever_step: bool,
    pub(crate) timed_out_only: bool,
}

struct PodState {
    name: usize,
    node: usize,
    created_at: i64,
    deleted_at: Option<i64>,
    running: bool,
    phase: Phase,
}

struct NodeState {
    generation: u32,
    deleted: bool,
    connected: bool,
    /// When it was connected or cut off.
    since: i64,
    heard_since: i64,
    out_of_service: bool,
}

pub(crate) struct World {
    now: i64,
    passes: u32,
    pods: Vec<PodState>,
    nodes: Vec<NodeState>,
    /// Step and holder of each address; an even step holds.
    addresses: [(u32, usize); 5],
    absences: BTreeMap<HoldKey, Absence>,
}

impl World {
    pub(crate) fn new() -> World {
        let node = |_| NodeState {
            generation: 0,
            deleted: false,
            connected: true,
            since: 0,
            heard_since: 0,
            out_of_service: false,
        };
        World {
            now: 1_000,
            passes: 0,
            pods: Vec::new(),
            nodes: NODES.map(node).into(),
            addresses: [(1, 0); 5],
            absences: BTreeMap::new(),
        }
    }

    pub(crate) fn happen(&mut self, (event, name, node): (Event, usize, usize)) {
        let pod = self
            .pods
            .iter()
            .position(|pod| pod.name == name && pod.deleted_at.is_none());
        let connected = pod.is_some_and(|pod| self.nodes[self.pods[pod].node].connected);
        match (event, pod) {
            (Event::Start, None) => self.start(name, node),
            (Event::Stop | Event::StopWithoutDel, Some(pod)) if connected => {
                self.pods[pod].deleted_at = Some(self.now);
                self.pods[pod].running = false;
                if event == Event::Stop {
                    self.end_holds(|holder, _| holder == pod);
                }
            }
            (Event::ForceDelete, Some(pod)) => self.pods[pod].deleted_at = Some(self.now),
            (Event::Finish, Some(pod)) if connected => {
                (self.pods[pod].running, self.pods[pod].phase) = (false, Phase::Succeeded);
            }
            (Event::PodGc, Some(pod)) if self.pods[pod].running && !connected => {
                self.pods[pod].phase = Phase::Failed;
            }
            (Event::LateDel, _) => self
                .end_holds(|_, pod| pod.name == name && pod.deleted_at.is_some() && !pod.running),
            (Event::CutOff, _) => self.cut_off(node),
            (Event::Return, _) => self.connect(node),
            (Event::DeleteNode | Event::OutOfService, _) => {
                self.switch_off(node);
                self.nodes[node].deleted |= event == Event::DeleteNode;
                self.nodes[node].out_of_service |= event == Event::OutOfService;
            }
            _ => {}
        }
    }

    fn start(&mut self, name: usize, node: usize) {
        let free = self.addresses.iter().position(|(step, _)| step % 2 == 1);
        let Some(free) = free.filter(|_| self.nodes[node].connected) else {
            return;
        };
        self.addresses[free] = (self.addresses[free].0 + 1, self.pods.len());
        self.pods.push(PodState {
            name,
            node,
            created_at: self.now,
            deleted_at: None,
            running: true,
            phase: Phase::Running,
        });
    }

    fn end_holds(&mut self, of: impl Fn(usize, &PodState) -> bool) {
        for (step, holder) in &mut self.addresses {
            *step += u32::from(*step % 2 == 0 && of(*holder, &self.pods[*holder]));
        }
    }

    fn cut_off(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        if node.connected {
            (node.connected, node.since) = (false, self.now);
        }
    }

    fn switch_off(&mut self, node: usize) {
        self.cut_off(node);
        for pod in self.pods.iter_mut().filter(|pod| pod.node == node) {
            pod.running = false;
            pod.deleted_at.get_or_insert(self.now);
        }
    }

    fn connect(&mut self, node: usize) {
        let node = &mut self.nodes[node];
        if !node.connected {
            node.generation += u32::from(node.deleted);
            (node.connected, node.deleted, node.out_of_service) = (true, false, false);
            (node.since, node.heard_since) = (self.now, self.now);
        }
    }

    pub(crate) fn advance(&mut self, seconds: i64) {
        self.now += seconds;
        for pod in self.pods.iter_mut().filter(|pod| pod.running) {
            let node = &self.nodes[pod.node];
            let stopped = |at: i64| self.now >= at.max(node.heard_since) + STOP_SECONDS;
            pod.running = !(node.connected && pod.deleted_at.is_some_and(stopped));
        }
    }

    pub(crate) fn look(&mut self, faults: u8) -> View {
        self.passes += 1;
        let pod_fails = |name: usize| faults >> name & 1 == 1;
        let pods = (0..3).map(|i| (pod_name(NAMES[i]), self.read_pod(i, pod_fails(i))));
        let seen = Observations {
            pass: format!("p{}", self.passes),
            cluster: cluster(self.now),
            pods: pods.collect(),
            nodes: (0..2)
                .map(|i| (NODES[i].to_owned(), self.read_node(i)))
                .collect(),
            absences: self.absences.clone(),
        };
        let settings = Settings {
            grace_seconds: 30,
            unreachable_node_timeout_seconds: Some(100),
            clock_difference_seconds: 0,
            ..Settings::default()
        };
        let in_list = |pod: &&PodState| pod.deleted_at.is_none() && faults & 8 == 0;
        let listed = self
            .pods
            .iter()
            .filter(in_list)
            .map(|pod| pod_name(NAMES[pod.name]));
        let listed = listed.collect();
        let holds = self.holds();
        let corrections = diff(&holds, &seen, &settings, t(self.now));
        self.absences.clone_from(&corrections.absences);
        View {
            holds,
            seen,
            listed,
            settings,
            now: t(self.now),
            corrections,
        }
    }

    fn holds(&self) -> Vec<Hold> {
        let held = (0_u8..)
            .zip(&self.addresses)
            .filter(|(_, (step, _))| step % 2 == 0);
        let as_hold = |(address, &(step, holder)): (u8, &(u32, usize))| {
            let pod = &self.pods[holder];
            let uid = (pod.name < 2).then(|| format!("uid-{holder}"));
            let mut hold = hold(address, NAMES[pod.name], uid, pod.created_at);
            (hold.key.step, hold.seen_at) = (step, t(self.now));
            hold.owner.as_mut().unwrap().node = Some(NODES[pod.node].to_owned());
            hold
        };
        held.map(as_hold).collect()
    }

    fn read_pod(&self, name: usize, fails: bool) -> PodRead {
        let found = |pod: &PodState| pod.name == name && pod.deleted_at.is_none();
        let (get, list) = match self.pods.iter().position(found) {
            _ if fails => (Read::Blind(Blind::TimedOut), None),
            None => (Read::NotFound(t(self.now)), list(self.now, None)),
            Some(index) => {
                let state = &self.pods[index];
                let container = match state.phase {
                    Phase::Succeeded => ContainerState::Terminated,
                    _ => ContainerState::Running,
                };
                let mut pod = pod(&format!("uid-{index}"), state.phase, &[container]);
                pod.created_at = t(state.created_at);
                let list = list(self.now, Some(&pod.uid));
                (Read::Found(t(self.now), pod), list)
            }
        };
        PodRead { get, list }
    }

    fn read_node(&self, index: usize) -> Read<Node> {
        let state = &self.nodes[index];
        if state.deleted {
            return Read::NotFound(t(self.now));
        }
        let last_heard = if state.connected {
            self.now
        } else {
            state.since
        };
        let mut node = node(state.heard_since, last_heard);
        node.uid = format!("{index}-{}", state.generation);
        node.out_of_service = state.out_of_service;
        let silent = !state.connected && self.now > state.since + 40;
        node.unreachable_since = silent.then(|| t(state.since));
        Read::Found(t(self.now), node)
    }

    /// The ledger refuses another step. A living pod has its object or running containers; what
    /// the time-out alone frees may still run, but its object must be gone.
    pub(crate) fn release(&mut self, freed: &[Freed]) -> Result<(), String> {
        for freed in freed {
            let IpAddr::V4(address) = freed.key.address else {
                return Err("only IPv4 here".to_owned());
            };
            let (step, holder) = &mut self.addresses[usize::from(address.octets()[3])];
            if *step % 2 == 1 || (*step != freed.key.step && !freed.whatever_step) {
                continue;
            }
            let pod = &self.pods[*holder];
            let is_there = pod.deleted_at.is_none() && pod.phase != Phase::Succeeded;
            if is_there || (pod.running && !freed.timed_out_only) {
                return Err(format!("{address} of a living pod was freed"));
            }
            *step += 1;
        }
        Ok(())
    }

    /// The nodes come back, reads work again: what is dead goes within a few passes.
    pub(crate) fn heal(mut self, pass: &dyn Fn(&View) -> Vec<Freed>) -> Result<(), String> {
        (0..2).for_each(|node| self.connect(node));
        for _ in 0..6 {
            self.advance(31);
            let freed = pass(&self.look(0));
            self.release(&freed)?;
        }
        let dead = |pod: &PodState| {
            pod.name < 2 && (pod.deleted_at.is_some() || pod.phase == Phase::Succeeded)
        };
        let stuck = |&(step, holder): &(u32, usize)| step % 2 == 0 && dead(&self.pods[holder]);
        match self.addresses.iter().position(stuck) {
            Some(address) => Err(format!("address {address} of a dead pod stayed held")),
            None => Ok(()),
        }
    }
}
