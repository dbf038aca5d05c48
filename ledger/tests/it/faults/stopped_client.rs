//! A client that stops between any two messages blocks nobody.

use std::time::{Duration, Instant};

use ledger::{Error, Ledger, StoreConfig, SystemClock};

use super::proxy::{Mode, Proxy};
use crate::guard::chain;
use crate::guard::sql::superuser;
use crate::support::{Bench, add, allocate};

/// Far longer than an `append` takes, far shorter than any time-out of a statement (10 s).
const BOUND: Duration = Duration::from_secs(3);

async fn replica_through(proxy: &Proxy, bench: &Bench) -> Ledger {
    let url = bench
        .database
        .url_as(&format!("{}_app", bench.database.name()));
    let config = StoreConfig::new(&proxy.url(&url));
    Ledger::open(&config, std::sync::Arc::new(SystemClock))
        .await
        .expect("a ledger")
}

/// Every boundary between two messages of an `append`: before the first, between any two, and
/// before the answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_stopped_between_two_messages_blocks_no_other_writer() {
    let bench = Bench::new().await;
    let proxy = Proxy::start(&bench.database.url()).await;
    add(&bench.ledger, allocate("first", "10.0.0.0/16"))
        .await
        .unwrap();
    let mut seen = Vec::new();
    for count in 0.. {
        let stopped = replica_through(&proxy, &bench).await;
        proxy.set(Mode::HoldAfter(count));
        let request = allocate(&format!("stopped-{count}"), "10.0.0.0/16");
        let waiting = tokio::spawn({
            let stopped = stopped.clone();
            async move { add(&stopped, request).await }
        });
        let messages = proxy.triggered().await;
        // The same space, the same range: the same head.
        for number in 0..3 {
            let begun = Instant::now();
            add(
                &bench.ledger,
                allocate(&format!("free-{count}-{number}"), "10.0.0.0/16"),
            )
            .await
            .unwrap();
            let took = begun.elapsed();
            assert!(
                took < BOUND,
                "after {messages:?} another writer waited {took:?}"
            );
        }
        proxy.cut_all();
        let told = waiting.await.unwrap();
        match told {
            Ok(_) | Err(Error::OutcomeUnknown { .. } | Error::Unavailable { .. }) => {}
            Err(other) => panic!("after {messages:?}: {other:?}"),
        }
        stopped.close().await;
        let done = messages.contains('S');
        seen.push(messages);
        if done {
            break;
        }
    }
    println!("stopped after {seen:?}");
    assert!(seen.len() >= 3, "{seen:?}");
    chain::verify(&superuser(&bench.database).await).await;
    bench.ledger.close().await;
}
