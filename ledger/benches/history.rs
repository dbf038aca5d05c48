//! What questions about the past cost: `cargo bench -p ledger --bench history`, under
//! `with-postgres`. `IPLEDGER_BENCH_EVENTS` is the length of the past, by default a million; a
//! tenth of it are addresses.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use address::{Window, WindowText};
use embedded_postgres::testing::TestDatabase;
use jiff::Timestamp;
use ledger::testing::Recorder;
use ledger::{HistoryQuery, HoldQuery, Ledger, StoreConfig, Subject, SystemClock};

/// Questions of each kind.
const ROUNDS: u32 = 300;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let events = match std::env::var("IPLEDGER_BENCH_EVENTS") {
        Ok(text) => text.parse()?,
        Err(_) => 1_000_000,
    };
    let addresses = u32::try_from(events / 10)?;
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await?;
    let (client, connection) =
        tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    let window = Window::parse(&WindowText {
        range: "10.0.0.0/8",
        range_start: None,
        range_end: None,
        exclude: &[],
    })?;
    let span: (Timestamp, Timestamp) = (
        "2026-01-01T00:00:00Z".parse()?,
        "2026-07-01T00:00:00Z".parse()?,
    );
    let began = Instant::now();
    let mut past = Recorder::new("prod", window);
    past.fill(&client, 1, events, addresses, span).await?;
    let recorded = past.write(&client).await?;
    report("recorded", began.elapsed());
    let url = database.url_as(&format!("{}_app", database.name()));
    let began = Instant::now();
    let ledger = Ledger::open(&StoreConfig::new(&url), Arc::new(SystemClock)).await?;
    report("opened", began.elapsed());
    let began = Instant::now();
    ledger.history(&pod(0)).await?;
    report("filed by subject", began.elapsed());
    client.batch_execute("vacuum analyze").await?;

    let moment = |round: u32| {
        let index = (u64::from(round) * 7919 * 104_729) % recorded.len() as u64;
        &recorded[usize::try_from(index).unwrap_or(0)]
    };
    let mut one = Vec::new();
    let mut page = Vec::new();
    for round in 0..ROUNDS {
        let event = moment(round);
        let began = Instant::now();
        ledger.holds(&as_of(event.at_us, Some(event.ip))).await?;
        one.push(began.elapsed());
        let began = Instant::now();
        ledger.history(&pod(round)).await?;
        page.push(began.elapsed());
    }
    percentiles("as of, one address", one);
    percentiles("history page of a pod", page);
    let mut of_range = Vec::new();
    for round in 0..5 {
        let began = Instant::now();
        let query = HoldQuery {
            range: Some("10.0.0.0/16".parse()?),
            limit: 65_536,
            ..as_of(moment(round * 31).at_us, None)
        };
        let holds = ledger.holds(&query).await?.holds.len();
        of_range.push(began.elapsed());
        report(
            &format!("as of, a /16 with {holds} holders"),
            began.elapsed(),
        );
    }
    percentiles("as of, a /16", of_range);
    ledger.close().await;
    Ok(())
}

fn pod(number: u32) -> HistoryQuery {
    HistoryQuery {
        subject: Subject::Pod {
            namespace: "default".to_owned(),
            name: format!("web-{number}"),
        },
        cluster: None,
        space: None,
        since: None,
        until: None,
        newest_first: false,
        after: None,
        limit: 100,
    }
}

fn as_of(at_us: i64, address: Option<IpAddr>) -> HoldQuery {
    HoldQuery {
        space: Some("prod".to_owned()),
        at: Timestamp::from_microsecond(at_us).ok(),
        address,
        limit: 10,
        ..HoldQuery::default()
    }
}

fn percentiles(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100];
    report(&format!("{what}, p50"), at(50));
    report(&format!("{what}, p99"), at(99));
}

#[expect(clippy::print_stdout, reason = "the result of the benchmark")]
fn report(what: &str, time: Duration) {
    println!("{what:<40} {time:>12.2?}");
}
