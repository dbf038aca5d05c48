//! Random commands against a naive model of the ledger, first on the pure core, then on
//! PostgreSQL. A counter-example shrinks to a few steps, printed one per line.
//!
//! The seed is printed; `IPLEDGER_TEST_SEED=<number>` tries another one.

mod core;
mod naive;
mod replay;
mod rows;
mod script;
mod snapshot;
mod store;
mod told;
mod tombstones;
mod world;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::io::Write as _;

use script::Script;

/// Another number gives other scripts.
const SEED: u64 = 20_240_607;

/// Run a number of scripts; panics with the shortest one that fails.
fn check(
    (cases, max_shrink_iters): (u32, u32),
    scripts: impl Strategy<Value = Script>,
    run: impl Fn(&Script) -> Result<(), String>,
) {
    let given = std::env::var("IPLEDGER_TEST_SEED").ok();
    let seed = given.map_or(SEED, |text| {
        text.parse().expect("IPLEDGER_TEST_SEED: a number")
    });
    // Shown when the test fails.
    writeln!(std::io::stdout(), "seed {seed}").expect("standard output");
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let tried = runner.run(&scripts, |script| run(&script).map_err(TestCaseError::fail));
    if let Err(error) = tried {
        panic!("seed {seed}: {error}");
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
fn decisions_follow_the_model() {
    check((2_000, 2_000), script::for_core(), core::run);
}

#[test]
fn the_store_follows_the_model() {
    let runtime = runtime();
    let replicas = runtime.block_on(store::Replicas::new());
    let run = |script: &Script| runtime.block_on(replicas.follow(script));
    check((20, 100), script::for_store(), run);
}

#[test]
fn replicas_that_race_leave_the_ledger_whole() {
    let runtime = runtime();
    let replicas = runtime.block_on(store::Replicas::new());
    let run = |script: &Script| runtime.block_on(replicas.race(script));
    check((12, 20), script::for_race(), run);
}
