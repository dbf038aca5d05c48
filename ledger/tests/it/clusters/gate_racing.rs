//! A gate is closed while other replicas allocate as fast as they can, in old spaces and new ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ledger::command::{Allocate, DeclareSpace};
use ledger::{Command, Ledger};

use super::{on_network, private, set_gate};
use crate::guard::sql::{superuser, text};
use crate::support::{Bench, Random, WAIT, add, allocate, open, provenance};

const ROUNDS: u32 = 8;
const ALLOCATED: &str = "select count(*) from ipledger.payloads where kind = 'allocated'";
/// Refusals after which a writer has seen enough.
const ENOUGH: u32 = 5;

/// An allocate that no other is like: often in a space of its own.
fn request(random: &mut Random, name: &str) -> Allocate {
    let range = format!("10.{}.0.0/16", random.below(4));
    let plain = allocate(name, &range);
    match random.below(5) {
        0 => plain,
        1 => on_network("blue", plain),
        2 => on_network(&format!("net-{name}"), plain),
        3 => {
            let cidr = format!("10.{}.{}.0/24", 100 + random.below(100), random.below(250));
            private(allocate(name, &cidr))
        }
        _ => on_network(
            "blue",
            private(allocate(name, &format!("10.9.{}.0/24", random.below(250)))),
        ),
    }
}

async fn write(ledger: Ledger, seed: u64, refusals: Arc<AtomicU32>, stop: Arc<AtomicBool>) {
    let mut random = Random::new(seed);
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        let name = format!("c{seed}-{number}");
        // Sometimes the cluster becomes a member of a shared space under way.
        if random.below(8) == 0 {
            let network = format!("vlan-{name}");
            let declare = DeclareSpace {
                name: format!("shared:{}", random.below(3)),
                members: vec![("prod".to_owned(), network.clone())],
                provenance: provenance(),
            };
            let join = ledger.execute(Command::DeclareSpace(Box::new(declare)), WAIT);
            let request = on_network(&network, allocate(&name, "10.0.0.0/16"));
            let (_, allocated) = tokio::join!(join, add(&ledger, request));
            count(&refusals, allocated);
            continue;
        }
        let allocated = add(&ledger, request(&mut random, &name)).await;
        count(&refusals, allocated);
    }
}

fn count<T: std::fmt::Debug>(refusals: &AtomicU32, result: Result<T, ledger::Error>) {
    match result {
        Ok(_) => {}
        Err(error) if error.kind() == "gated" => {
            refusals.fetch_add(1, Ordering::Relaxed);
        }
        // The private part of a range was not private before, or the other way round.
        Err(error) => assert_eq!(error.kind(), "space_conflict", "{error}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_given_out_after_the_gate_was_answered() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    let others = [open(&bench.database).await, open(&bench.database).await];
    let mut before = 0;
    for round in 0..ROUNDS {
        let (refusals, stop) = (
            Arc::new(AtomicU32::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        let mut writers = tokio::task::JoinSet::new();
        for (seed, ledger) in (0..6).zip(others.iter().cycle()) {
            let (ledger, seed) = (ledger.clone(), u64::from(round) * 100 + seed);
            writers.spawn(write(
                ledger,
                seed,
                Arc::clone(&refusals),
                Arc::clone(&stop),
            ));
        }
        // They are at it.
        let busy = before + 20;
        crate::faults::servers::until("the writers write", async || {
            text(&observer, ALLOCATED)
                .await
                .parse::<u32>()
                .is_ok_and(|count| count > busy)
        })
        .await;
        set_gate(&bench.ledger, "prod", true).await.expect("a gate");
        let at_the_answer = text(&observer, ALLOCATED).await;
        refusals.store(0, Ordering::Relaxed);
        crate::faults::servers::until("all were refused often enough", async || {
            refusals.load(Ordering::Relaxed) > 6 * ENOUGH
        })
        .await;
        stop.store(true, Ordering::Relaxed);
        while let Some(writer) = writers.join_next().await {
            writer.expect("no panic");
        }
        assert_eq!(
            text(&observer, ALLOCATED).await,
            at_the_answer,
            "round {round}"
        );
        set_gate(&bench.ledger, "prod", false)
            .await
            .expect("a gate");
        before = at_the_answer.parse().expect("a number");
    }
    for ledger in others.into_iter().chain([bench.ledger]) {
        ledger.close().await;
    }
}
