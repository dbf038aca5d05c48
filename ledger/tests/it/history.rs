//! The past, asked at any moment: against a naive fold over the events, on a recorded past of a
//! hundred thousand events.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use embedded_postgres::testing::TestDatabase;
use jiff::Timestamp;
use ledger::testing::{Recorded, Recorder};
use ledger::{
    DifferenceQuery, Event, HistoryPlace, HistoryQuery, HoldQuery, Ledger, Moment, Subject,
};

use crate::guard::sql::{connect, text};
use crate::support::{Random, add, allocate, del, ip, open, release, window};

const EVENTS: u64 = 100_000;
const ADDRESSES: u32 = 4_000;
const RANGE: &str = "10.20.0.0/16";

fn time(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn span() -> (Timestamp, Timestamp) {
    (time("2026-01-01T00:00:00Z"), time("2026-07-01T00:00:00Z"))
}

/// A ledger on a recorded past of two spaces, and what was recorded in the first.
async fn recorded() -> (Ledger, Vec<Recorded>, TestDatabase) {
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await.expect("migrations");
    let client = connect(&database.url()).await;
    let mut past = Recorder::new("prod", window(RANGE, None, None));
    past.fill(&client, 7, EVENTS, ADDRESSES, span())
        .await
        .expect("a past");
    let events = past.write(&client).await.expect("a past");
    let mut other = Recorder::new("prod/blue", window(RANGE, None, None));
    other
        .fill(&client, 8, EVENTS / 10, ADDRESSES, span())
        .await
        .expect("another past");
    other.write(&client).await.expect("another past");
    let wrong = text(
        &client,
        "select count(*) from ipledger.events e join ipledger.spaces s on s.id = e.space_id \
         left join ipledger.events b on b.space_id = e.space_id and b.seq = e.seq - 1 \
         where e.hash <> ipledger.event_hash(s.name, e.seq, e.epoch, e.ip, e.step, e.recorded_at, \
            e.digest, coalesce(b.hash, decode(repeat('00', 32), 'hex')))",
    )
    .await;
    assert_eq!(wrong, "0", "hashes of the recorded past");
    (open(&database).await, events, database)
}

/// Step, position and container id of each hold.
type Holders = BTreeMap<IpAddr, (u32, u64, String)>;

/// The holders after each event, in one walk.
struct Fold<'a> {
    rest: &'a [Recorded],
    held: Holders,
}

impl Fold<'_> {
    fn to(&mut self, at: Timestamp) {
        while let Some((next, rest)) = self.rest.split_first() {
            if next.at_us > at.as_microsecond() {
                return;
            }
            match next.step.is_multiple_of(2) {
                true => {
                    let hold = (next.step, next.seq, next.container_id.clone());
                    self.held.insert(next.ip, hold);
                }
                false => drop(self.held.remove(&next.ip)),
            }
            self.rest = rest;
        }
    }
}

async fn holders(ledger: &Ledger, query: HoldQuery) -> Holders {
    let page = ledger.holds(&query).await.expect("a page");
    assert!(!page.more);
    let holds = page.holds.into_iter();
    holds
        .map(|hold| (hold.ip, (hold.step, hold.seq, hold.attachment.container_id)))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_as_of_a_time_are_those_of_a_fold_at_a_thousand_moments() {
    let (ledger, events, _database) = recorded().await;
    let mut random = Random::new(11);
    let (start, end) = span();
    let length = (end.as_microsecond() - start.as_microsecond()).unsigned_abs();
    let mut moments: Vec<Timestamp> = (0..1000)
        .map(|_| {
            let part = i64::try_from(random.below(length)).expect("half a year");
            Timestamp::from_microsecond(start.as_microsecond() + part).expect("a time")
        })
        .collect();
    // The moments of events themselves, where one microsecond decides.
    for index in [0, 1, 500, events.len() - 1] {
        moments.push(Timestamp::from_microsecond(events[index].at_us).expect("a time"));
        moments.push(Timestamp::from_microsecond(events[index].at_us - 1).expect("a time"));
    }
    moments.sort();
    let mut fold = Fold {
        rest: &events,
        held: BTreeMap::new(),
    };
    let mut earlier: Option<(Timestamp, Holders)> = None;
    for (number, at) in moments.into_iter().enumerate() {
        fold.to(at);
        let query = HoldQuery {
            space: Some("prod".to_owned()),
            at: Some(at),
            limit: 100_000,
            ..HoldQuery::default()
        };
        // One address each time, and everything now and then.
        let index = u8::try_from(random.below(200)).expect("small");
        let address = IpAddr::from([10, 20, 0, index.max(1)]);
        let of_one = HoldQuery {
            address: Some(address),
            ..query.clone()
        };
        let found = holders(&ledger, of_one).await;
        assert_eq!(
            found.get(&address),
            fold.held.get(&address),
            "{address} at {at}"
        );
        if number % 100 == 0 {
            assert_eq!(holders(&ledger, query.clone()).await, fold.held, "at {at}");
            if let Some((from, before)) = earlier.replace((at, fold.held.clone())) {
                differs_as(&ledger, from, at, &before, &fold.held).await;
            }
        }
    }
    ledger.close().await;
}

async fn differs_as(ledger: &Ledger, from: Timestamp, to: Timestamp, old: &Holders, new: &Holders) {
    let query = DifferenceQuery {
        space: Some("prod".to_owned()),
        from: Moment::Time(from),
        to: Some(Moment::Time(to)),
        after: None,
        positions: None,
        limit: 100_000,
    };
    let page = ledger.difference(&query).await.expect("a difference");
    let seq = |hold: Option<&(u32, u64, String)>| hold.map(|hold| hold.1);
    let told: Vec<(IpAddr, Option<u64>, Option<u64>)> = page
        .changes
        .iter()
        .map(|c| {
            let seq = |hold: &Option<ledger::Hold>| hold.as_ref().map(|hold| hold.seq);
            (c.ip, seq(&c.before), seq(&c.after))
        })
        .collect();
    let addresses: std::collections::BTreeSet<&IpAddr> = old.keys().chain(new.keys()).collect();
    let expected: Vec<(IpAddr, Option<u64>, Option<u64>)> = addresses
        .into_iter()
        .map(|ip| (*ip, seq(old.get(ip)), seq(new.get(ip))))
        .filter(|(_, before, after)| before != after)
        .collect();
    assert_eq!(told, expected, "from {from} to {to}");
}

fn history(subject: Subject) -> HistoryQuery {
    HistoryQuery {
        subject,
        cluster: None,
        space: None,
        since: None,
        until: None,
        newest_first: false,
        after: None,
        limit: 50,
    }
}

async fn all_pages(ledger: &Ledger, mut query: HistoryQuery) -> Vec<Event> {
    let mut all: Vec<Event> = Vec::new();
    loop {
        let page = ledger.history(&query).await.expect("a page");
        let Some(last) = page.last() else {
            return all;
        };
        query.after = Some(HistoryPlace {
            recorded_at: last.recorded_at,
            space: last.space.clone(),
            seq: last.seq,
            step: last.step.unwrap_or(0),
        });
        all.extend(page);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn histories_have_every_event_of_their_subject_once_over_all_spaces() {
    let (ledger, events, database) = recorded().await;
    let client = connect(&database.url()).await;
    // Whose hold each event begins or ends, found the slow way.
    let count = async |condition: &str| -> usize {
        let sql = format!(
            "select count(*) from ipledger.payloads p \
             left join ipledger.payloads a on a.space_id = p.space_id and a.seq = \
                (convert_from(p.body, 'UTF8')::jsonb ->> 'ends_seq')::bigint \
             cross join lateral (select \
                convert_from(coalesce(a.body, p.body), 'UTF8')::jsonb as j) x where {condition}"
        );
        text(&client, &sql).await.parse().expect("a count")
    };
    let pod = Subject::Pod {
        namespace: "default".to_owned(),
        name: "web-17".to_owned(),
    };
    let container = events[77].container_id.clone();
    for (subject, condition) in [
        (pod, "j #>> '{owner,name}' = 'web-17'".to_owned()),
        (
            Subject::PodUid("uid-prod-42".to_owned()),
            "j #>> '{owner,uid}' = 'uid-prod-42'".to_owned(),
        ),
        (
            Subject::Node("node-9".to_owned()),
            "j #>> '{owner,node}' = 'node-9'".to_owned(),
        ),
        (
            Subject::Sandbox(container.clone()),
            format!("j #>> '{{attachment,container_id}}' = '{container}'"),
        ),
    ] {
        let mut query = history(subject);
        query.limit = 333;
        let found = all_pages(&ledger, query.clone()).await;
        assert_eq!(found.len(), count(&condition).await, "{condition}");
        assert!(!found.is_empty(), "{condition}");
        let place = |e: &Event| (e.recorded_at, e.space.clone(), e.seq);
        assert!(found.is_sorted_by_key(place), "{condition}");
        query.newest_first = true;
        let mut newest = all_pages(&ledger, query).await;
        newest.reverse();
        assert_eq!(newest, found, "{condition}");
    }
    let mut query = history(Subject::Address(ip("10.20.0.9")));
    query.space = Some("prod".to_owned());
    let found = all_pages(&ledger, query).await;
    let expected: Vec<u64> = events
        .iter()
        .filter(|event| event.ip == ip("10.20.0.9"))
        .map(|event| event.seq)
        .collect();
    assert_eq!(found.iter().map(|e| e.seq).collect::<Vec<_>>(), expected);
    ledger.close().await;
}

#[tokio::test]
async fn what_was_acknowledged_is_in_the_next_history() {
    let (ledger, _, _database) = recorded().await;
    for number in 0..20 {
        let container = format!("now-{number}");
        add(&ledger, allocate(&container, "10.30.0.0/24"))
            .await
            .expect("an address");
        del(&ledger, release(&container)).await.expect("a release");
        let subject = Subject::PodUid(format!("uid-{container}"));
        let found = ledger.history(&history(subject)).await.expect("a history");
        assert_eq!(found.len(), 2, "{container}");
    }
    ledger.close().await;
}

/// What reading the past may cost, in milliseconds at the 99th percentile: generous for a machine
/// that is shared and a build without optimisation; a scan of the tables takes ten times as long.
const PAGE: Duration = Duration::from_millis(50);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_and_one_page_cost_the_same_whatever_the_length_of_history() {
    let (ledger, events, _database) = recorded().await;
    let mut random = Random::new(5);
    let mut times: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..200 {
        let event = &events[usize::try_from(random.below(EVENTS)).expect("an index")];
        let began = Instant::now();
        let query = HoldQuery {
            at: Timestamp::from_microsecond(event.at_us).ok(),
            address: Some(event.ip),
            limit: 10,
            ..HoldQuery::default()
        };
        ledger.holds(&query).await.expect("holds");
        times[0].push(began.elapsed());
        let began = Instant::now();
        let name = format!("web-{}", random.below(u64::from(ADDRESSES)));
        let namespace = "default".to_owned();
        let pod = Subject::Pod { namespace, name };
        ledger.history(&history(pod)).await.expect("a page");
        times[1].push(began.elapsed());
    }
    for times in &mut times {
        times.sort();
        let p99 = times[times.len() * 99 / 100];
        println!("p50 {:?}, p99 {p99:?}", times[times.len() / 2]);
        assert!(p99 <= PAGE, "{p99:?}");
    }
    ledger.close().await;
}
