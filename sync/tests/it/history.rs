//! Random histories of a small cluster: no hold of a living pod is ever freed, every dead hold
//! goes in the end, and a wrong pass breaks the property.

mod world;

use ipledger_sync::diff::{Hold, HoldKey, Node, PodName, Read, Settings, diff};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use world::{Freed, Step, View, World, any_step};

type Pass = fn(&View) -> Vec<Freed>;

/// Runs a history under a pass; the error says what broke.
fn run(history: &[Step], pass: Pass) -> Result<(), String> {
    let mut world = World::new();
    for step in history {
        let view = world.look(step.faults);
        let turned: Vec<_> = view.holds.iter().rev().cloned().collect();
        if diff(&turned, &view.seen, &view.settings, view.now) != view.corrections {
            return Err("the order of the holds matters".to_owned());
        }
        let freed = pass(&view);
        step.events.iter().for_each(|event| world.happen(*event));
        world.advance(step.seconds);
        world.release(&freed)?;
    }
    world.heal(&pass)
}

pub(crate) fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config(1_500))]

    #[test]
    fn no_living_hold_is_freed_and_every_dead_one_is(
        history in prop::collection::vec(any_step(), 1..40),
    ) {
        run(&history, by_evidence).map_err(TestCaseError::fail)?;
    }
}

/// The right pass.
fn by_evidence(view: &View) -> Vec<Freed> {
    judged(view, |_| {}, |_| {})
}

const WRONG: &[(&str, Pass)] = &[
    ("by name", |view| {
        let releases = view.corrections.releases.iter();
        let dead: Vec<_> = releases.map(|release| name(&release.hold)).collect();
        freed(view.holds.iter().filter(|hold| dead.contains(&name(hold))))
    }),
    ("by position in a list that was read again", |view| {
        let again: Vec<_> = view.holds.iter().rev().collect();
        let index = |key: &HoldKey| view.holds.iter().position(|hold| hold.key == *key).unwrap();
        let releases = view.corrections.releases.iter();
        freed(releases.map(|release| again[index(&release.hold.key)]))
    }),
    ("trusting an empty list", |view| {
        freed(
            view.holds
                .iter()
                .filter(|hold| !view.listed.contains(&name(hold))),
        )
    }),
    ("by address only", |view| {
        let mut freed = by_evidence(view);
        freed
            .iter_mut()
            .for_each(|freed| freed.whatever_step = true);
        freed
    }),
    ("without a grace", |view| {
        judged(view, |settings| settings.grace_seconds = 0, |_| {})
    }),
    ("without a look at the node", |view| {
        judged(view, |_| {}, |node| *node = Read::NotFound(view.now))
    }),
    ("by the first heartbeat after a gap", |view| {
        judged(
            view,
            |_| {},
            |node| {
                if let Read::Found(_, node) = node {
                    node.heartbeats.as_mut().unwrap().unbroken_since = Timestamp::MIN;
                }
            },
        )
    }),
];

fn name(hold: &Hold) -> PodName {
    hold.owner.as_ref().unwrap().pod.clone()
}

fn freed<'a>(holds: impl Iterator<Item = &'a Hold>) -> Vec<Freed> {
    let freed = |hold: &Hold| Freed {
        key: hold.key.clone(),
        whatever_step: false,
        timed_out_only: false,
    };
    holds.map(freed).collect()
}

/// What the right rules make of other settings or nodes.
fn judged(view: &View, set: fn(&mut Settings), change: impl Fn(&mut Read<Node>)) -> Vec<Freed> {
    let (mut settings, mut seen) = (view.settings.clone(), view.seen.clone());
    set(&mut settings);
    seen.nodes.values_mut().for_each(change);
    let releases = diff(&view.holds, &seen, &settings, view.now).releases;
    let freed = |release: &ipledger_sync::diff::Evidence| Freed {
        key: release.hold.key.clone(),
        whatever_step: false,
        timed_out_only: release.timed_out_only,
    };
    releases.iter().map(freed).collect()
}

#[test]
fn every_wrong_pass_breaks_the_property() {
    for (wrong, pass) in WRONG {
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config(5_000), rng);
        let histories = prop::collection::vec(any_step(), 1..40);
        let broken = runner.run(&histories, |history| {
            run(&history, *pass).map_err(TestCaseError::fail)
        });
        let failure = broken.expect_err(wrong).to_string();
        assert!(
            failure.contains("of a living pod was freed"),
            "{wrong}: {failure}"
        );
    }
}
