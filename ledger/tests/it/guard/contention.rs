//! Many callers of `append` at once.

use std::collections::BTreeMap;

use tokio_postgres::Client;

use super::call::Call;
use super::chain;
use super::sql::{migrated, role, run, superuser, text};
use crate::support::Random;

const CONNECTIONS: u64 = 16;
const SPACES: u64 = 8;
/// Calls of each connection that must succeed.
const ROUNDS: u64 = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_over_many_spaces_in_any_order_never_deadlock() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    let names =
        "insert into ipledger.spaces (name) select 'space ' || n from generate_series(1, 8) n";
    run(&observer, names).await;
    let mut tasks = Vec::new();
    for number in 0..CONNECTIONS {
        let app = role(&database, "app").await;
        tasks.push(tokio::spawn(append_rounds(app, Random::new(number))));
    }
    let mut events = 0;
    let mut moved = 0;
    for task in tasks {
        let (appended, lost) = task.await.expect("no refusal, and no deadlock");
        events += appended;
        moved += lost;
    }
    println!("{events} events, {moved} calls with old heads");
    assert!(moved > 0, "the connections came into each other's way");
    assert_eq!(text(&observer, chain::BROKEN).await, "0");
    assert_eq!(chain::verify(&observer).await, events);
}

/// (events appended, calls that found other heads).
async fn append_rounds(app: Client, mut random: Random) -> (usize, usize) {
    let mut known: BTreeMap<i32, i64> = (1..=8).map(|space| (space, 0)).collect();
    let (mut events, mut moved, mut rounds) = (0, 0, 0);
    while rounds < ROUNDS {
        let chosen = some_heads(&known, &mut random);
        let mut heads = chosen.clone();
        heads.sort_unstable();
        let call = chosen
            .iter()
            .fold(Call::new(&heads), |call, (space, _)| call.fact(*space));
        // A deadlock would be SQLSTATE 40P01.
        let answer = call.send(&app).await.expect("an answer");
        for row in &answer {
            known.insert(row.space.expect("a space"), row.seq.expect("a head"));
        }
        if answer[0].outcome == "appended" {
            events += heads.len();
            rounds += 1;
        } else {
            moved += 1;
        }
    }
    (events, moved)
}

/// Up to four spaces in any order, with the positions known of them.
fn some_heads(known: &BTreeMap<i32, i64>, random: &mut Random) -> Vec<(i32, i64)> {
    let mut heads: Vec<(i32, i64)> = Vec::new();
    for _ in 0..=random.below(4) {
        let space = i32::try_from(random.below(SPACES) + 1).expect("small");
        if !heads.iter().any(|(chosen, _)| *chosen == space) {
            heads.push((space, known[&space]));
        }
    }
    heads
}
