//! Events as the database has them, and as the API shows them.

use std::net::IpAddr;

use ledger::event::encoding::{Header, hex, payload_digest};
use serde_json::{Value, json};
use tokio_postgres::Client;

/// One event without its hashes.
#[derive(Debug, Clone)]
pub(super) struct Recorded {
    pub(super) space: String,
    pub(super) seq: u64,
    pub(super) epoch: u32,
    pub(super) recorded_at_us: i64,
    pub(super) address: Option<(IpAddr, u32)>,
    pub(super) kind: String,
    pub(super) body: Vec<u8>,
}

/// The whole ledger, space by space in the order of their names.
pub(super) async fn read(client: &Client) -> Vec<Recorded> {
    let sql = "select s.name, e.seq, e.epoch, \
         (extract(epoch from e.recorded_at) * 1000000)::bigint, e.ip, e.step, p.kind, p.body \
         from ipledger.events e join ipledger.payloads p using (space_id, seq) \
         join ipledger.spaces s on s.id = e.space_id \
         where p.encoding = 1 order by s.name collate \"C\", e.seq";
    let rows = client.query(sql, &[]).await.expect("the whole ledger");
    rows.iter()
        .map(|row| Recorded {
            space: row.get(0),
            seq: row.get::<_, i64>(1).cast_unsigned(),
            epoch: row.get::<_, i32>(2).cast_unsigned(),
            recorded_at_us: row.get(3),
            address: row
                .get::<_, Option<IpAddr>>(4)
                .map(|ip| (ip, row.get::<_, i32>(5).cast_unsigned())),
            kind: row.get(6),
            body: row.get(7),
        })
        .collect()
}

/// The events as `GET /v1/events` gives them, chained by this crate, and with them the exact
/// texts that are hashed.
pub(super) fn document(events: &[Recorded]) -> Value {
    let mut previous = [0; 32];
    let mut shown = Vec::new();
    for event in events {
        if event.seq == 1 {
            previous = [0; 32];
        }
        let header = Header {
            space: &event.space,
            seq: event.seq,
            epoch: event.epoch,
            address: event.address,
            recorded_at_us: event.recorded_at_us,
            digest: payload_digest(&event.body),
            previous,
        };
        shown.push(row(event, &header));
        previous = header.hash();
    }
    json!({"events": shown})
}

fn row(event: &Recorded, header: &Header<'_>) -> Value {
    let at = jiff::Timestamp::from_microsecond(event.recorded_at_us).expect("a time");
    let body = std::str::from_utf8(&event.body).expect("payloads are UTF-8");
    json!({
        "space": event.space,
        "seq": event.seq,
        "epoch": event.epoch,
        "recorded_at": format!("{at:.6}"),
        "address": event.address.map(|(ip, _)| ip.to_string()),
        "step": event.address.map(|(_, step)| step),
        "kind": event.kind,
        "encoding": 1,
        "payload": serde_json::from_str::<Value>(body).expect("payloads are JSON"),
        "digest": hex(&header.digest),
        "hash": hex(&header.hash()),
        "previous_hash": hex(&header.previous),
        "body": body,
        "header": header.text(),
    })
}

/// What the ledger itself shows of a space, in the words of `GET /v1/events`.
pub(super) async fn shown(ledger: &ledger::Ledger, space: &str) -> Value {
    let query = ledger::EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq: 0,
        limit: 10_000,
    };
    let events = ledger.events(&query).await.expect("events");
    let events: Vec<Value> = events
        .into_iter()
        .map(|event| {
            json!({
                "space": event.space,
                "seq": event.seq,
                "epoch": event.epoch,
                "recorded_at": format!("{:.6}", event.recorded_at),
                "address": event.ip.map(|ip| ip.to_string()),
                "step": event.step,
                "kind": event.kind,
                "encoding": event.encoding,
                "payload": event.payload,
                "digest": hex(&event.digest),
                "hash": hex(&event.hash),
                "previous_hash": hex(&event.previous_hash),
            })
        })
        .collect();
    json!({"events": events})
}
