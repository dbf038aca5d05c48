//! What a process reads: the API server as it is, or as a fault shows it.

use std::collections::BTreeMap;

use ipledger_sync::diff::{
    Blind, ContainerState, HeartbeatSource, Heartbeats, Hold, HoldKey, NameList, Node, Owner, Pod,
    PodName, PodRead, Read,
};

use super::ReadFault;
use crate::beats::Heard;
use crate::time::{clock, whole_seconds};
use crate::world::{Machine, Object, World};

impl World {
    pub(super) fn fault(&self, cluster: usize) -> ReadFault {
        let syncer = &self.clusters[cluster].syncer;
        if self.now < syncer.fault_until {
            syncer.fault
        } else {
            ReadFault::Nothing
        }
    }

    /// One read in many fails by itself.
    fn fails(&mut self, cluster: usize) -> Option<Blind> {
        match self.fault(cluster) {
            ReadFault::Blind(why) => Some(why),
            _ if !self.healing && self.dice.percent(2) => Some(Blind::TimedOut),
            _ => None,
        }
    }

    /// All holds, as the API shows them.
    pub(super) fn read_holds(&mut self, cluster: usize) -> Vec<Hold> {
        let (now, first_seen) = (self.now, &mut self.clusters[cluster].syncer.first_seen);
        let mut holds = Vec::with_capacity(self.book.holds.len());
        for (&(space, address), held) in &self.book.holds {
            let key = HoldKey {
                space: self.book.space_name(space).to_owned(),
                address,
                step: held.step,
            };
            let seen_at = *first_seen
                .entry(((space, address), held.step))
                .or_insert(now);
            holds.push(Hold {
                key,
                cluster: held.attachment.cluster.clone(),
                owner: held.owner.as_ref().map(|owner| Owner {
                    pod: pod_name(&owner.name),
                    uid: owner.uid.clone(),
                    node: owner.node.clone(),
                }),
                allocated_at: held.recorded_at,
                seen_at: clock(seen_at, 0),
            });
        }
        holds
    }

    fn object_named(&self, api: Option<usize>, name: &str) -> Option<&Object> {
        let mut slots = self.slots.iter();
        let slot = slots.find(|slot| Some(slot.cluster) == api && slot.name == name);
        slot?.object.as_ref()
    }

    /// A GET of each name. `api` is the cluster whose server answers; an empty one, if none.
    pub(super) fn get_pods(
        &mut self,
        cluster: usize,
        api: Option<usize>,
        names: impl IntoIterator<Item = PodName>,
    ) -> BTreeMap<PodName, PodRead> {
        let now = clock(self.now, 0);
        let mut reads = BTreeMap::new();
        for name in names {
            let get = match (self.fails(cluster), self.object_named(api, &name.name)) {
                (Some(why), _) => Read::Blind(why),
                (None, Some(object)) if self.fault(cluster) != ReadFault::FalseNotFound => {
                    Read::Found(now, self.pod_read(api, object))
                }
                (None, _) => Read::NotFound(now),
            };
            reads.insert(name, PodRead { get, list: None });
        }
        reads
    }

    /// A LIST of each name whose GET was answered.
    pub(super) fn list_names(
        &mut self,
        cluster: usize,
        api: Option<usize>,
        reads: &mut BTreeMap<PodName, PodRead>,
    ) {
        for (name, read) in reads {
            if matches!(read.get, Read::Blind(_)) || self.fails(cluster).is_some() {
                continue;
            }
            let (version, uid) = match self.fault(cluster) {
                ReadFault::EmptyLists => ("7001", None),
                ReadFault::OldLists => {
                    let old = &self.clusters[cluster].syncer.old_lists;
                    ("0", old.get(name).cloned())
                }
                _ => (
                    "7001",
                    self.object_named(api, &name.name)
                        .map(|object| object.uid.clone()),
                ),
            };
            read.list = Some(NameList {
                at: clock(self.now, 0),
                resource_version: version.to_owned(),
                uid,
            });
        }
    }

    fn pod_read(&self, api: Option<usize>, object: &Object) -> Pod {
        let ahead = api.map_or(0, |api| self.clusters[api].clock_ahead);
        let state = if object.is_terminated {
            ContainerState::Terminated
        } else {
            ContainerState::Running
        };
        let until = object.deleting_until;
        Pod {
            uid: object.uid.clone(),
            mirror_of: self
                .is_static(object.pod)
                .then(|| self.pods[object.pod].uid.clone()),
            resource_version: "6001".to_owned(),
            node: Some(self.machines[self.pods[object.pod].machine].name.clone()),
            created_at: whole_seconds(object.created_at, ahead),
            terminating_until: until.map(|until| whole_seconds(until, ahead)),
            phase: object.phase,
            containers: BTreeMap::from([("app".to_owned(), state)]),
        }
    }

    /// A GET of each node, with what the watch of its Lease has shown.
    pub(super) fn get_nodes(
        &mut self,
        cluster: usize,
        api: Option<usize>,
        names: impl IntoIterator<Item = String>,
    ) -> BTreeMap<String, Read<Node>> {
        let mut reads = BTreeMap::new();
        for name in names {
            let read = match self.fails(cluster) {
                Some(why) => Read::Blind(why),
                None => self.node_read(cluster, api, &name),
            };
            reads.insert(name, read);
        }
        reads
    }

    fn node_read(&self, cluster: usize, api: Option<usize>, name: &str) -> Read<Node> {
        let (now, mut machines) = (clock(self.now, 0), self.machines.iter());
        let machine = machines.find(|of| Some(of.cluster) == api && of.name == name);
        let found = machine.and_then(|machine| Some((machine, machine.node.as_ref()?)));
        let Some((machine, node)) = found else {
            return Read::NotFound(now);
        };
        let ahead = self.clusters[machine.cluster].clock_ahead;
        let unreachable_since = machine.beats.unreachable_since(self.now);
        Read::Found(
            now,
            Node {
                uid: node.uid.clone(),
                resource_version: "5001".to_owned(),
                heartbeats: self.heard(cluster, machine).map(|heard| Heartbeats {
                    source: HeartbeatSource::Lease,
                    written_at: clock(heard.later_than, machine.clock_ahead),
                    unbroken_since: clock(heard.unbroken_since, 0),
                    later_than: clock(heard.later_than, 0),
                }),
                out_of_service: node.is_out_of_service,
                unreachable_since: unreachable_since.map(|since| whole_seconds(since, ahead)),
            },
        )
    }

    pub(super) fn heard(&self, cluster: usize, machine: &Machine) -> Option<Heard> {
        let watch = &self.clusters[cluster].syncer.watch;
        if self.now >= watch.dropped_until {
            return machine.beats.heard(watch.since, self.now);
        }
        let index = self
            .machines
            .iter()
            .position(|of| std::ptr::eq(of, machine))?;
        *watch.believed.get(index)?
    }

    /// All pods of a cluster by name.
    pub(super) fn names_and_uids(&self, api: Option<usize>) -> BTreeMap<PodName, String> {
        let slots = self.slots.iter().filter(|slot| Some(slot.cluster) == api);
        let named = slots
            .filter_map(|slot| Some((pod_name(&slot.name), slot.object.as_ref()?.uid.clone())));
        named.collect()
    }

    /// The same as a process's cache has it, which a fault may have emptied or stopped.
    pub(super) fn cached(&self, cluster: usize, api: Option<usize>) -> BTreeMap<PodName, String> {
        match self.fault(cluster) {
            ReadFault::EmptyLists => BTreeMap::new(),
            ReadFault::OldLists => self.clusters[cluster].syncer.old_lists.clone(),
            _ => self.names_and_uids(api),
        }
    }
}

fn pod_name(name: &str) -> PodName {
    PodName {
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}
