//! A deterministic simulation of clusters, the ledger and sync: no hold of a living container is
//! released, nobody else gets its address, and every dead hold goes in the end.
//!
//! Each run depends on its seed alone. `SIMULATION_SEED=<seed>` runs one and prints its log,
//! `SIMULATION_RUNS=<count>` runs more or fewer than ten thousand.
#![cfg(test)]

mod beats;
mod book;
mod dice;
mod mutants;
mod plan;
mod syncer;
mod tally;
mod time;
mod variant;
mod world;

use std::io::Write as _;

use mutants::MUTANTS;
use tally::Tally;
use variant::{Fails, PRODUCT, Variant};
use world::{Broken, World};

const RUNS: u64 = 10_000;
/// Of the same seeds; each mutant is caught many times in fewer.
const MUTANT_RUNS: u64 = 500;

/// Runs in which these never happen would prove little.
const MUST_HAPPEN: &[&str] = &[
    "DEL from the queue",
    "DEL never called",
    "address_taken",
    "another_cluster",
    "container written off after the time-out",
    "cooling",
    "deleted",
    "exhausted",
    "freed: another UID",
    "freed: created after the hold",
    "freed: finished",
    "freed: not found",
    "freed: terminating on a node out of service",
    "doubts ended",
    "proof: heartbeats",
    "proof: node deleted",
    "proof: node out of service",
    "proof: node replaced",
    "proof: node unreachable",
    "proof: terminated",
    "second look",
    "stale",
    "step_mismatch",
];

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{variable}: {text:?} is not a number")))
}

fn say(text: impl std::fmt::Display) {
    writeln!(std::io::stdout(), "{text}").expect("standard output");
}

fn run(seed: u64, variant: &'static Variant) -> World {
    let mut world = World::new(seed, variant, false);
    world.run();
    world
}

/// The same run once more, line by line.
fn log_of(seed: u64) -> (Option<Broken>, String) {
    let mut world = World::new(seed, &PRODUCT, true);
    world.run();
    (
        world.broken,
        world.log.expect("a log was asked for").join("\n"),
    )
}

#[test]
fn no_run_breaks_a_promise() {
    if let Some(seed) = number("SIMULATION_SEED") {
        let (broken, log) = log_of(seed);
        say(&log);
        assert_eq!(broken, None, "seed {seed}");
        return;
    }
    let mut tally = Tally::default();
    for seed in 0..number("SIMULATION_RUNS").unwrap_or(RUNS) {
        let world = run(seed, &PRODUCT);
        if let Some(broken) = world.broken {
            say(log_of(seed).1);
            let again = "cargo test -p ipledger-sync --test simulation no_run -- --nocapture";
            panic!("seed {seed}: {broken:?}\nagain: SIMULATION_SEED={seed} {again}");
        }
        tally.add(&world.tally);
    }
    say(&tally);
    let unseen: Vec<_> = MUST_HAPPEN
        .iter()
        .filter(|what| tally.of(what) == 0)
        .collect();
    assert!(unseen.is_empty(), "these never happened: {unseen:?}");
}

#[test]
fn every_mutant_is_caught() {
    let runs = number("SIMULATION_RUNS").unwrap_or(RUNS).min(MUTANT_RUNS);
    for mutant in MUTANTS {
        let is_caught = |seed: &u64| match (run(*seed, mutant).broken, mutant.fails) {
            (Some(Broken::Living(_)), fails) => fails == Fails::Living,
            (Some(Broken::Stuck(_)), fails) => fails == Fails::Stuck,
            (Some(Broken::Contradiction(text)), _) => panic!("{}: {text}", mutant.name),
            (None, _) => false,
        };
        let caught = (0..runs).filter(is_caught).count();
        say(format_args!("{caught:>5} of {runs} seeds: {}", mutant.name));
        assert!(caught > 0, "no seed catches what {}", mutant.name);
    }
}

#[test]
fn a_seed_always_gives_the_same_run() {
    for seed in 0..20 {
        assert_eq!(log_of(seed), log_of(seed), "seed {seed}");
    }
}
