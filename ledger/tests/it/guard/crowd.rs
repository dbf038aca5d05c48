//! A crowd of raw writers that know nothing of each other.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use tokio_postgres::Client;

use super::sql::{make_writer, migrated, role, run, superuser, text};
use crate::support::Random;

const CONNECTIONS: u64 = 8;
const ATTEMPTS: u64 = 100_000 / CONNECTIONS;
const SPACES: u64 = 4;
const ADDRESSES: u64 = 256;

/// Position and step are the next ones, or, by the offsets, wrong ones.
const ATTEMPT: &str = "\
    insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash) \
    select $1, 1 + $2::bigint + coalesce((select max(seq) from ipledger.events where space_id = $1), 0), \
        1, clock_timestamp(), $3, greatest(1 + $4::int + coalesce((select max(step) \
        from ipledger.events where space_id = $1 and ip = $3), -1), 0), \
        sha256('x'), sha256('y')";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_thousand_random_inserts_leave_no_second_holder_and_no_gap() {
    let database = migrated().await;
    make_writer(&database).await;
    let mut tasks = Vec::new();
    for number in 0..CONNECTIONS {
        let client = role(&database, "writer").await;
        tasks.push(tokio::spawn(attempts(client, Random::new(number))));
    }
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for task in tasks {
        for (outcome, count) in task.await.expect("a writer") {
            *outcomes.entry(outcome).or_default() += count;
        }
    }
    println!("{outcomes:?}");
    let allowed = [
        "appended",
        "events_gapless",
        "events_position",
        "events_predecessor",
        "events_step",
    ];
    let names: Vec<&str> = outcomes.keys().map(String::as_str).collect();
    assert_eq!(
        names, allowed,
        "every constraint was tried and nothing else happened"
    );
    assert!(outcomes["appended"] > 10_000, "{outcomes:?}");
    let observer = superuser(&database).await;
    let count = text(&observer, "select count(*) from ipledger.events").await;
    assert_eq!(count, outcomes["appended"].to_string());
    for (what, sql) in PROOFS {
        assert_eq!(text(&observer, sql).await, "0", "{what}");
    }
    // Making the foreign key anew looks at every row.
    run(
        &observer,
        "begin; alter table ipledger.events drop constraint events_predecessor; \
         alter table ipledger.events add constraint events_predecessor \
         foreign key (space_id, ip, previous_step) references ipledger.events (space_id, ip, step); \
         rollback",
    )
    .await;
}

/// Whole-table proofs that use no constraint: each counts offenders.
const PROOFS: [(&str, &str); 4] = [
    (
        "addresses with two live holds",
        "select count(*) from (select from ipledger.events where step % 2 = 0 \
         group by space_id, ip having count(*) - (select count(*) from ipledger.events r \
         where r.space_id = events.space_id and r.ip = events.ip and r.step % 2 = 1) > 1) x",
    ),
    (
        "addresses whose steps are not 0..n",
        "select count(*) from (select from ipledger.events where ip is not null \
         group by space_id, ip having count(*) <> max(step) + 1 or min(step) <> 0 \
         or count(distinct step) <> count(*)) x",
    ),
    (
        "streams with a gap",
        "select count(*) from (select from ipledger.events group by space_id \
         having count(*) <> max(seq) or min(seq) <> 1 or count(distinct seq) <> count(*)) x",
    ),
    (
        "spellings beside the canonical one",
        "select count(*) from ipledger.events where ip is not null \
         and ip::text !~ '^(\\d+\\.){3}\\d+/32$'",
    ),
];

async fn attempts(client: Client, mut random: Random) -> BTreeMap<String, u64> {
    let statement = client.prepare(ATTEMPT).await.expect("prepared");
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for _ in 0..ATTEMPTS {
        let space = i32::try_from(random.below(SPACES)).expect("small") + 1;
        let last = u8::try_from(random.below(ADDRESSES)).expect("small");
        let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        let seq_offset = wrong_now_and_then(&mut random, &[-1, 1, 5]);
        let step_offset =
            i32::try_from(wrong_now_and_then(&mut random, &[-2, -1, 1, 2])).expect("small");
        let sent = client
            .execute(&statement, &[&space, &seq_offset, &ip, &step_offset])
            .await;
        let outcome = match sent {
            Ok(_) => "appended".to_owned(),
            Err(error) => {
                let refused = error.as_db_error().expect("an answer of the server");
                let constraint = refused.constraint().map(str::to_owned);
                constraint.unwrap_or_else(|| refused.code().code().to_owned())
            }
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    outcomes
}

fn wrong_now_and_then(random: &mut Random, wrong: &[i64]) -> i64 {
    if random.below(8) > 0 {
        return 0;
    }
    let index = random.below(wrong.len() as u64);
    wrong[usize::try_from(index).expect("small")]
}
