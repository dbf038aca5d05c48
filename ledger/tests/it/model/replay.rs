//! Two independent proofs that must agree: the derived table, and the events played again.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use embedded_postgres::testing::TestDatabase;
use ipnet::IpNet;
use ledger::decide::apply_recorded;
use ledger::event::Payload;
use ledger::event::encoding::Key;
use ledger::state::{Record, SpaceIndex, State};
use ledger::{EventQuery, HoldQuery, Ledger};
use sqlx::{Connection as _, PgConnection, Row as _};

/// What both must say of an address.
#[derive(Debug, PartialEq)]
struct Row {
    step: u32,
    seq: u64,
    allocated_seq: u64,
    at_us: i64,
    attachment: Key,
    owner: Key,
    position: u16,
    pool: IpNet,
    boottime_ns: u64,
    content: u64,
    cooldown_seconds: u32,
}

/// Whether a space is a cluster's own: `prod`, `prod/blue`, `prod/blue#10.0.0.0/24`.
pub(crate) fn is_of_cluster(space: &str, cluster: &str) -> bool {
    let network = space.split('#').next().unwrap_or_default();
    network.split('/').next() == Some(cluster)
}

/// Check every space of a cluster.
pub(crate) async fn check(
    ledger: &Ledger,
    database: &TestDatabase,
    cluster: &str,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let spaces = ledger.spaces().await.map_err(|e| failed(&e))?;
    let mut state = State::default();
    let mut connection = PgConnection::connect(&database.url())
        .await
        .map_err(|e| failed(&e))?;
    for (index, space) in spaces
        .iter()
        .filter(|space| is_of_cluster(&space.name, cluster))
        .enumerate()
    {
        let id = i32::try_from(index).expect("few spaces");
        let added = state.spaces.add(id, &space.name, None);
        play(ledger, &mut state, added, &space.name, space.seq).await?;
        let derived = derived(&mut connection, &space.name)
            .await
            .map_err(|e| failed(&e))?;
        let replayed = replayed(&state, added);
        if derived != replayed {
            return Err(format!(
                "{}: derived\n{derived:?}\nreplayed\n{replayed:?}",
                space.name
            ));
        }
        let query = HoldQuery {
            space: Some(space.name.clone()),
            limit: 1_000,
            ..HoldQuery::default()
        };
        let page = ledger.holds(&query).await.map_err(|e| failed(&e))?;
        let shown: Vec<(IpAddr, u32)> =
            page.holds.iter().map(|hold| (hold.ip, hold.step)).collect();
        let held = replayed
            .iter()
            .filter(|(_, row)| row.step.is_multiple_of(2));
        let held: Vec<(IpAddr, u32)> = held.map(|(ip, row)| (*ip, row.step)).collect();
        if shown != held {
            return Err(format!("{}: shows {shown:?}, not {held:?}", space.name));
        }
    }
    connection.close().await.map_err(|e| failed(&e))
}

/// All events of a space into the state; each must follow from the one before.
async fn play(
    ledger: &Ledger,
    state: &mut State,
    space: SpaceIndex,
    name: &str,
    head: u64,
) -> Result<(), String> {
    let mut steps: HashMap<IpAddr, u32> = HashMap::new();
    let (mut seq, mut at_us) = (0, i64::MIN);
    loop {
        let query = EventQuery {
            space: name.to_owned(),
            address: None,
            after_seq: seq,
            limit: 500,
        };
        let events = ledger
            .events(&query)
            .await
            .map_err(|error| error.to_string())?;
        if events.is_empty() {
            return if seq == head {
                Ok(())
            } else {
                Err(format!("{name} ends at {seq}"))
            };
        }
        for event in events {
            let recorded_us = event.recorded_at.as_microsecond();
            if event.seq != seq + 1 || recorded_us < at_us {
                return Err(format!("{name}: {} follows {seq}", event.seq));
            }
            (seq, at_us) = (event.seq, recorded_us);
            let target = event.ip.zip(event.step);
            if let Some((ip, step)) = target {
                let next = steps.entry(ip).or_insert(0);
                if *next != step {
                    return Err(format!("{name}: {ip} goes to step {step}, not {next}"));
                }
                *next += 1;
            }
            let payload: Payload =
                serde_json::from_value(event.payload).map_err(|error| error.to_string())?;
            apply_recorded(state, space, seq, at_us, target, payload)?;
            state.commit();
        }
    }
}

fn replayed(state: &State, space: SpaceIndex) -> BTreeMap<IpAddr, Row> {
    let records = super::world::ADDRESSES.iter().filter_map(|ip| {
        let ip = ip.parse().expect("an address");
        Some((ip, state.record_of(space, ip)?))
    });
    records
        .map(|(ip, record)| (ip, row_of(state, record)))
        .collect()
}

fn row_of(state: &State, record: &Record) -> Row {
    Row {
        step: record.step,
        seq: record.seq,
        allocated_seq: record.allocated_seq,
        at_us: record.at_us,
        attachment: record.attachment,
        owner: record.owner,
        position: record.position,
        pool: state.pools.cidr(record.pool),
        boottime_ns: record.boottime_ns,
        content: record.content,
        cooldown_seconds: record.cooldown_seconds,
    }
}

async fn derived(
    connection: &mut PgConnection,
    space: &str,
) -> Result<BTreeMap<IpAddr, Row>, sqlx::Error> {
    let found = sqlx::query(
        "select a.ip, a.step, a.seq, a.allocated_seq,
            (extract(epoch from a.recorded_at) * 1000000)::bigint as at_us,
            a.attachment, a.owner, a.position, a.pool, a.boottime_ns, a.content,
            a.cooldown_seconds
         from ipledger.addresses a join ipledger.spaces s on s.id = a.space_id
         where s.name = $1",
    )
    .bind(space)
    .fetch_all(connection)
    .await?;
    let key = |bytes: Option<Vec<u8>>| {
        let bytes = bytes.map(|bytes| bytes.try_into().expect("16 bytes"));
        bytes.map_or(0, Key::from_be_bytes)
    };
    let number = |number: i64| u64::try_from(number).expect("it is not negative");
    found
        .iter()
        .map(|row| {
            let ip: IpNet = row.try_get("ip")?;
            let derived = Row {
                step: u32::try_from(row.try_get::<i32, _>("step")?).expect("a step"),
                seq: number(row.try_get("seq")?),
                allocated_seq: number(row.try_get("allocated_seq")?),
                at_us: row.try_get("at_us")?,
                attachment: key(row.try_get("attachment")?),
                owner: key(row.try_get("owner")?),
                position: u16::try_from(row.try_get::<i16, _>("position")?).expect("a position"),
                pool: row.try_get("pool")?,
                boottime_ns: row
                    .try_get::<Option<i64>, _>("boottime_ns")?
                    .map_or(0, number),
                content: row.try_get::<i64, _>("content")?.cast_unsigned(),
                cooldown_seconds: u32::try_from(row.try_get::<i32, _>("cooldown_seconds")?)
                    .expect("seconds"),
            };
            Ok((ip.addr(), derived))
        })
        .collect()
}
