//! The test vectors in `tests/vectors`. They are made by this crate and checked by two others:
//! the database's function and the auditor's program.
//!
//! `IPLEDGER_WRITE_VECTORS=1` writes them anew. Version 1 of the encoding never changes, so that
//! is for further vectors only: no line that exists may differ.

use std::net::IpAddr;

use ledger::event::Payload;
use ledger::event::encoding::{Header, fingerprint_of, hex, key_of, payload_digest};
use serde_json::{Value, json};
use tokio_postgres::Client;

use super::recorded::{self, Recorded};
use super::{program, story};
use crate::guard::chain::{BROKEN, verify};
use crate::guard::sql::{migrated, superuser};
use crate::support::Bench;

/// When the first event of the vectors was recorded, in microseconds since 1970: six decimals
/// that all differ.
const BEGIN_US: i64 = 1_700_000_000_012_345;
/// From one event of the vectors to the next.
const STRIDE_US: i64 = 86_399_999_999;

/// A file of vectors.
pub(super) fn stored(file: &str) -> Value {
    let text = std::fs::read_to_string(program::path(file)).expect("a file of vectors");
    serde_json::from_str(&text).expect("JSON")
}

/// The file has exactly this, and the auditor's program agrees.
fn compare(file: &str, made: &Value) {
    if std::env::var_os("IPLEDGER_WRITE_VECTORS").is_some() {
        let text = serde_json::to_string_pretty(made).expect("JSON");
        std::fs::write(program::path(file), text + "\n").expect("a file of vectors");
    }
    let list = |document: &Value| {
        let (_, list) = document.as_object()?.iter().next()?;
        list.as_array().cloned()
    };
    let (made, kept) = (
        list(made).expect("a list"),
        list(&stored(file)).expect("a list"),
    );
    for (index, (made, kept)) in made.iter().zip(&kept).enumerate() {
        assert_eq!(made, kept, "{file}, number {index}");
    }
    assert_eq!(made.len(), kept.len(), "{file}");
    let (accepted, told) = program::check(&[], &[stored(file)]);
    assert!(accepted, "{told}");
}

/// What the database's function makes of a header.
async fn hash_in_sql(client: &Client, header: &Header<'_>) -> String {
    let sql = "select encode(ipledger.event_hash($1, $2, $3, $4, $5, \
         timestamptz 'epoch' + $6::bigint * interval '1 microsecond', $7, $8), 'hex')";
    let (ip, step) = header.address.unzip();
    let row = client
        .query_one(
            sql,
            &[
                &header.space,
                &header.seq.cast_signed(),
                &header.epoch.cast_signed(),
                &ip,
                &step.map(u32::cast_signed),
                &header.recorded_at_us,
                &&header.digest[..],
                &&header.previous[..],
            ],
        )
        .await
        .expect("a hash");
    row.get(0)
}

async fn assert_sql_agrees(client: &Client, events: &[Recorded], document: &Value) {
    let rows = document["events"].as_array().expect("events");
    assert_eq!(rows.len(), events.len());
    let mut previous = [0; 32];
    for (event, row) in events.iter().zip(rows) {
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
        assert_eq!(row["hash"], hash_in_sql(client, &header).await, "{row}");
        previous = header.hash();
    }
}

#[tokio::test]
async fn a_story_becomes_the_vectors() {
    let bench = Bench::new().await;
    story::tell(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    // First as it was recorded, with the times of this run.
    let mut events = recorded::read(&observer).await;
    assert_eq!(verify(&observer).await, events.len());
    assert_eq!(crate::guard::sql::text(&observer, BROKEN).await, "0");
    let mut spaces: Vec<&str> = events.iter().map(|event| event.space.as_str()).collect();
    spaces.dedup();
    assert_eq!(spaces, ["prod", "prod/blue#10.9.0.0/24", "shared:vlan7"]);
    let mut shown = Vec::new();
    for space in spaces {
        shown.push(recorded::shown(&bench.ledger, space).await);
    }
    let (accepted, told) = program::check(&[], &shown);
    assert!(accepted, "{told}");
    // Then with times that are the same in every run.
    for (event, nth) in events.iter_mut().zip(0..) {
        event.recorded_at_us = BEGIN_US + STRIDE_US * nth;
    }
    let document = recorded::document(&events);
    assert_sql_agrees(&observer, &events, &document).await;
    for event in &events {
        let payload: Payload = serde_json::from_slice(&event.body).expect("a payload");
        assert_eq!(
            payload.encode(),
            event.body,
            "{} {}",
            event.space,
            event.seq
        );
    }
    compare("events.json", &document);
    assert_keys_are_recorded(&observer, &events).await;
    bench.ledger.close().await;
}

/// Headers at the limits, which no story reaches.
#[tokio::test]
async fn headers_at_the_limits() {
    let address = |ip: &str, step| Some((ip.parse::<IpAddr>().expect("an address"), step));
    let last = i32::MAX.cast_unsigned();
    let made = [
        ("prod/blue#10.0.0.0/8", 1, 1, None, 0),
        ("prod", 2, 1, address("0.0.0.0", 0), -1),
        ("prod", 3, 7, address("::", 1), 999_999),
        ("prod", 10, 10, address("255.255.255.255", 10), 1_000_000),
        (
            "東京",
            99,
            2,
            address("2001:db8::a", 2),
            951_782_400_000_000,
        ),
        (
            "größe",
            i64::MAX.cast_unsigned(),
            last,
            address("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", last),
            4_102_444_799_999_999,
        ),
    ];
    let database = migrated().await;
    let observer = superuser(&database).await;
    let mut headers = Vec::new();
    let mut previous = [0; 32];
    for (space, seq, epoch, address, recorded_at_us) in made {
        let header = Header {
            space,
            seq,
            epoch,
            address,
            recorded_at_us,
            digest: payload_digest(space.as_bytes()),
            previous,
        };
        previous = header.hash();
        assert_eq!(hex(&previous), hash_in_sql(&observer, &header).await);
        headers.push(json!({
            "space": space,
            "seq": seq,
            "epoch": epoch,
            "address": address.map(|(ip, _)| ip.to_string()),
            "step": address.map(|(_, step)| step),
            "recorded_at_us": recorded_at_us,
            "digest": hex(&header.digest),
            "previous_hash": hex(&header.previous),
            "header": header.text(),
            "hash": hex(&previous),
        }));
    }
    compare("headers.json", &json!({"headers": headers}));
}

/// (what it is, parts, hex).
fn keys() -> Vec<(&'static str, Vec<String>, String)> {
    let (first, second) = (story::first_request(), story::dual_request("77aa02", 1));
    let attachments = [first.attachment.key(), story::imported_attachment().key()];
    let owners = [&first, &second].map(|request| {
        let owner = request.owner.as_ref().expect("an owner");
        owner.key("prod", "net1").expect("UID or node is known")
    });
    let key = |of, parts: &[&str], computed: u128| {
        assert_eq!(key_of(parts), computed, "{of}");
        let parts = parts.iter().map(|&part| part.to_owned()).collect();
        (of, parts, hex(&computed.to_be_bytes()))
    };
    let print = |of, parts: Vec<String>| {
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let computed = hex(&fingerprint_of(&texts).to_be_bytes());
        (of, parts, computed)
    };
    let content = "10.10.3.0/24 168428289 168428387 -168428289-168428293 -168428297-168428297\n\
                   default pod-4fe2a1 uid-4fe2a1\n true";
    let dual = "10.10.4.0/24 168428545 168428798\n\
                2001:db8::/64 42540766411282592856903984951653826561 \
                42540766411282592875350729025363378174\n\
                ip 2001:db8::abcd\nip 10.10.4.7\ngröße db-0 \n true";
    let excluded = (1..=20).map(|n| format!("10.9.0.{}", n * 2)).collect();
    vec![
        key(
            "attachment",
            &["attachment", "prod", "super-net", "4fe2a1", "net1"],
            attachments[0],
        ),
        key(
            "imported attachment",
            &["attachment", "test", "", "9c0ffee", ""],
            attachments[1],
        ),
        key(
            "owner with a UID",
            &["uid", "prod", "uid-4fe2a1", "net1"],
            owners[0],
        ),
        key(
            "owner without a UID",
            &["name", "prod", "größe", "db-0", "node-1", "net1"],
            owners[1],
        ),
        print("content of one range", vec![content.to_owned()]),
        print("content of two ranges", vec![dual.to_owned()]),
        print("excluded parts", excluded),
    ]
}

/// The keys are those that the database has.
async fn assert_keys_are_recorded(client: &Client, events: &[Recorded]) {
    let sql = "select encode(a.attachment, 'hex'), encode(a.owner, 'hex'), \
         lpad(to_hex(a.content), 16, '0') from ipledger.addresses a";
    let rows = client.query(sql, &[]).await.expect("addresses");
    let mut known: Vec<String> = rows
        .iter()
        .flat_map(|row| (0..3).map(|column| row.get::<_, Option<String>>(column)))
        .flatten()
        .collect();
    let payloads = events.iter().map(|event| {
        let payload: Payload = serde_json::from_slice(&event.body).expect("a payload");
        let decision = payload.decision;
        [
            payload.content,
            decision.and_then(|decision| decision.window.exclude_digest),
        ]
    });
    let printed: Vec<String> = payloads.flatten().flatten().collect();
    known.extend(printed.iter().cloned());
    for (of, _, key) in keys() {
        assert!(known.contains(&key), "{of} {key} is not in the ledger");
        assert!(key.len() == 32 || printed.contains(&key), "{of} {key}");
    }
}

#[test]
fn keys_and_fingerprints() {
    let keys: Vec<Value> = keys()
        .into_iter()
        .map(|(of, parts, key)| json!({"of": of, "parts": parts, "hex": key}))
        .collect();
    compare("keys.json", &json!({"keys": keys}));
}
