//! A client that stops between any two messages blocks nobody.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ledger::{Error, Ledger, StoreConfig, SystemClock};

use super::proxy::{Mode, Proxy};
use super::servers::{Stopped, binaries, until};
use crate::guard::call::Call;
use crate::guard::chain;
use crate::guard::sql::{migrated, role, run, superuser, text};
use crate::support::{Bench, add, allocate};

/// Far longer than an `append` takes, far shorter than any time-out of a statement (10 s).
const BOUND: Duration = Duration::from_secs(6);

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

/// A process of its own that appends as fast as it can, in spite of whoever else does.
fn endless_appends(url: &str) -> Child {
    let append = Call::new(&[(1, 0)]).fact(1).sql().replace(
        "'{0}'::bigint[]",
        "array[(select seq from ipledger.spaces where id = 1)]",
    );
    let mut child = Command::new(binaries().program("psql"))
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--dbname", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("psql runs");
    let mut script = child.stdin.take().expect("a pipe");
    std::thread::spawn(move || {
        // Until psql is killed.
        while writeln!(script, "select outcome from {append};").is_ok() {}
    });
    child
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_stopped_at_any_moment_blocks_no_other_writer() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.spaces (name) values ('prod')",
    )
    .await;
    let app = role(&database, "app").await;
    let mut child = endless_appends(&database.url_as(&format!("{}_app", database.name())));
    let pid = child.id().cast_signed();
    let count = "select count(*) from ipledger.payloads where kind = 'test'";
    for _ in 0..20 {
        let before = text(&observer, count).await;
        until("the process appends", async || {
            text(&observer, count).await != before
        })
        .await;
        let stopped = Stopped::process(pid);
        let begun = Instant::now();
        // A statement that was sent before the stop may still be running.
        until("another writer appends", async || {
            let head = text(&observer, "select seq from ipledger.spaces").await;
            let call = Call::new(&[(1, head.parse().unwrap())]).fact(1);
            call.send(&app).await.unwrap()[0].outcome == "appended"
        })
        .await;
        let took = begun.elapsed();
        assert!(took < BOUND, "another writer waited {took:?}");
        drop(stopped);
    }
    child.kill().expect("end a process of this test");
    child.wait().expect("it has ended");
    chain::verify(&observer).await;
}
