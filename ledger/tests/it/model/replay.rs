//! Two independent proofs that must agree: the derived table, and the events played again.

use std::collections::HashMap;
use std::net::IpAddr;

use embedded_postgres::testing::TestDatabase;
use ledger::decide::apply_recorded;
use ledger::event::{Kind, Payload};
use ledger::state::{SpaceIndex, State};
use ledger::{EventQuery, HoldQuery, Ledger};
use serde_json::Value;
use sqlx::{Connection as _, PgConnection};

use super::rows::{self, Rows};

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
        let (space_id, stored) = rows::stored(&mut connection, &space.name)
            .await
            .map_err(|e| failed(&e))?;
        let mut made = Played {
            state: &mut state,
            space: added,
            space_id,
            rows: Rows::new(),
        };
        made.play(ledger, &space.name, space.seq).await?;
        let made = made.rows;
        if let Some(difference) = rows::difference(&stored, &made) {
            return Err(format!("{}: {difference}", space.name));
        }
        let query = HoldQuery {
            space: Some(space.name.clone()),
            limit: 1_000,
            ..HoldQuery::default()
        };
        let page = ledger.holds(&query).await.map_err(|e| failed(&e))?;
        let shown: Vec<(IpAddr, u32)> =
            page.holds.iter().map(|hold| (hold.ip, hold.step)).collect();
        let step = |row: &Value| u32::try_from(row["step"].as_u64().expect("a step"));
        let steps = made
            .iter()
            .map(|(ip, row)| (*ip, step(row).expect("a step")));
        // Nobody holds what is set aside.
        let is_hold =
            |(ip, step): &(IpAddr, u32)| step.is_multiple_of(2) && made[ip]["container_id"] != "";
        let held: Vec<(IpAddr, u32)> = steps.filter(is_hold).collect();
        if shown != held {
            return Err(format!("{}: shows {shown:?}, not {held:?}", space.name));
        }
    }
    connection.close().await.map_err(|e| failed(&e))
}

/// What the events of a space make.
struct Played<'a> {
    state: &'a mut State,
    space: SpaceIndex,
    space_id: i32,
    rows: Rows,
}

impl Played<'_> {
    /// All events of a space; each must follow from the one before.
    async fn play(&mut self, ledger: &Ledger, name: &str, head: u64) -> Result<(), String> {
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
                if let Some((ip, _)) = target
                    && payload.kind == Kind::Released
                    && !rows::names_the_holder(&self.rows[&ip], &payload)
                {
                    return Err(format!("{name}: {seq} names another holder: {payload:?}"));
                }
                if let Some(target) = target {
                    rows::apply(
                        &mut self.rows,
                        (self.space_id, name),
                        target,
                        (seq, at_us),
                        &payload,
                    );
                }
                apply_recorded(self.state, self.space, seq, at_us, target, payload)?;
                self.state.commit();
            }
        }
    }
}
