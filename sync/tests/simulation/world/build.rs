//! The beginning of a run: what the seed's plan asks for.

use std::collections::{BTreeMap, BTreeSet};

use ledger::Command;
use ledger::command::{BindCluster, DeclareSpace};

use super::{Cluster, Event, Kind, Machine, Node, Slot, World, provenance};
use crate::beats::Beats;
use crate::book::Book;
use crate::dice::Dice;
use crate::plan::Plan;
use crate::syncer::Syncer;
use crate::tally::Tally;
use crate::time::SECOND;
use crate::variant::Variant;

impl World {
    pub(crate) fn new(seed: u64, variant: &'static Variant, with_log: bool) -> World {
        let mut dice = Dice::new(seed);
        let plan = Plan::draw(&mut dice);
        let mut world = World {
            now: 0,
            dice,
            plan,
            variant,
            book: Book::default(),
            book_down_until: 0,
            clusters: Vec::new(),
            machines: Vec::new(),
            slots: Vec::new(),
            pods: Vec::new(),
            sandboxes: Vec::new(),
            calls: Vec::new(),
            living: BTreeMap::new(),
            heard: BTreeSet::new(),
            healing: false,
            patience: 0,
            broken: None,
            tally: Tally::default(),
            log: with_log.then(Vec::new),
            agenda: BTreeMap::new(),
            scheduled: 0,
        };
        world.book.notes_boots_with_events = variant.notes_boots_with_events;
        world.build();
        world
    }

    fn build(&mut self) {
        for name in ["east", "west"].into_iter().take(self.plan.clusters) {
            let cluster = self.clusters.len();
            let clock_ahead = self.dice.between(-2 * SECOND, 2 * SECOND);
            self.clusters.push(Cluster {
                name,
                uid: format!("{name}-uid"),
                clock_ahead,
                denies_mirrors_until: 0,
                syncer: Syncer::default(),
            });
            self.build_machines(cluster);
            self.build_slots(cluster);
            self.soon(0, 20 * SECOND, Event::Pass(cluster, 0, true));
            self.soon(0, 5 * SECOND, Event::Hear(cluster, 0));
        }
        self.declare();
        self.at(20 * SECOND, Event::Chaos);
        self.at(self.plan.heals_at, Event::Heal);
    }

    /// The clusters' names are bound, and a shared space is declared, before anything else.
    fn declare(&mut self) {
        if self.plan.shared {
            let members = self.clusters.iter();
            let members = members.map(|cluster| (cluster.name.to_owned(), String::new()));
            self.book.execute(
                &Command::DeclareSpace(Box::new(DeclareSpace {
                    name: "shared:lan".to_owned(),
                    members: members.collect(),
                    provenance: provenance("operator"),
                })),
                0,
            );
        }
        for cluster in &self.clusters {
            self.book.execute(
                &Command::BindCluster(Box::new(BindCluster {
                    cluster: cluster.name.to_owned(),
                    uid: cluster.uid.clone(),
                    provenance: provenance("operator"),
                })),
                0,
            );
        }
    }

    fn build_machines(&mut self, cluster: usize) {
        // The last machine of some clusters has an old runtime.
        let old = self.dice.percent(30);
        for number in 1..=self.plan.machines {
            let boot = self.new_boot();
            let clock_ahead = if self.dice.percent(30) {
                self.dice.between(-3_600, 3_600)
            } else {
                0
            };
            self.machines.push(Machine {
                cluster,
                name: format!("n{number}"),
                node: Some(Node {
                    uid: format!("{cluster}-n{number}-0"),
                    is_out_of_service: false,
                }),
                is_on: true,
                is_connected: true,
                reaches_ledger: true,
                boot,
                booted_at: 0,
                clock_ahead: clock_ahead * SECOND,
                passes_uid: !(old && number == self.plan.machines),
                queue: Vec::new(),
                beats: Beats::new(),
                silences: 0,
            });
        }
    }

    fn build_slots(&mut self, cluster: usize) {
        let first = self.machines.len() - self.plan.machines;
        for number in 0..self.plan.slots {
            let (drawn, on) = (
                self.dice.below(10),
                first + self.dice.below(self.plan.machines),
            );
            let kind = match drawn {
                0 | 1 => Kind::Job,
                // Without a UID nobody could tell that a pod is a static one.
                2 if self.machines[on].passes_uid => Kind::Static(on),
                _ => Kind::StatefulSet,
            };
            let drawn = self.dice.below(self.plan.capacity);
            let fixed = if self.dice.percent(8) {
                self.plan.addresses().nth(drawn)
            } else {
                None
            };
            self.slots.push(Slot {
                cluster,
                name: format!("web-{number}"),
                kind,
                is_wanted: true,
                fixed,
                object: None,
                manifest: None,
            });
            self.soon(0, 15 * SECOND, Event::Create(self.slots.len() - 1));
        }
    }
}
