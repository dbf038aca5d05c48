//! The order of boots: noted once each, before the first call of a boot is decided.
//!
//! Numbers are drawn and committed one at a time (`migrations/0010_boots.sql`), so whatever is read
//! is the beginning of the one order that all replicas share, and memory reads on from the last.

use serde_json::{Value, json};
use tokio_postgres::Client;
use uuid::Uuid;

use super::connection::classify;
use crate::error::Error;
use crate::model::Boot;
use crate::state::Order;

const NOTE_SQL: &str = "call ipledger.note_boots_and_commit($1::text::jsonb)";

/// Note boots in the order in which they were first seen: one round trip.
pub(super) async fn note(client: &Client, boots: &[Boot]) -> Result<(), tokio_postgres::Error> {
    let note = |boot: &Boot| {
        let Boot {
            cluster,
            node,
            boot_id,
        } = boot;
        json!({"cluster": cluster, "node": node, "boot_id": boot_id})
    };
    let boots = boots.iter().map(note).collect::<Value>().to_string();
    client.execute(NOTE_SQL, &[&boots]).await.map(drop)
}

/// Read the boots that memory does not know yet, in the order of their first sight.
pub(super) async fn read(client: &Client, order: &mut Order) -> Result<(), Error> {
    let last = order.last_recorded_boot().map_or(0, |(number, _)| number);
    let rows = client
        .query(
            "select id, boot_id from ipledger.boots where id > $1 order by id",
            &[&last],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        order.add_boot(row.get(0), row.get(1));
    }
    Ok(())
}

/// Whether the database still has the last boot that memory read: after a new connection this may
/// be another server, and without an event since, nothing else would tell.
pub(super) async fn stand(client: &Client, order: &Order) -> Result<bool, Error> {
    let Some((number, boot_id)) = order.last_recorded_boot() else {
        return Ok(true);
    };
    let row = client
        .query_opt(
            "select boot_id from ipledger.boots where id = $1",
            &[&number],
        )
        .await
        .map_err(|e| classify(&e))?;
    Ok(row.is_some_and(|row| row.get::<_, Uuid>(0) == boot_id))
}
