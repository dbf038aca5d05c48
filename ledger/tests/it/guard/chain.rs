//! One hash, three times: what `append` stored, what SQL computes, what this crate computes.

use std::net::IpAddr;

use ledger::event::encoding::{Header, payload_digest};
use tokio_postgres::Client;

use super::call::Call;
use super::sql::{migrated, role, run, superuser, text};
use crate::support::{Bench, add, allocate, del, release};

/// How many events are not what their stream makes of them.
pub(crate) const BROKEN: &str = "\
    select count(*) from ipledger.events e \
    join ipledger.spaces s on s.id = e.space_id \
    left join ipledger.events b on b.space_id = e.space_id and b.seq = e.seq - 1 \
    where e.hash <> ipledger.event_hash(s.name, e.seq, e.epoch, e.ip, e.step, e.recorded_at, \
        e.digest, coalesce(b.hash, decode(repeat('00', 32), 'hex'))) \
    or e.digest <> (select sha256(p.body) from ipledger.payloads p \
        where p.space_id = e.space_id and p.seq = e.seq)";

/// Walk every stream with this crate's own code; gives the number of events.
pub(crate) async fn verify(client: &Client) -> usize {
    let rows = client
        .query(
            "select s.name, e.seq, e.epoch, e.ip, e.step, \
             (extract(epoch from e.recorded_at) * 1000000)::bigint, p.body, e.digest, e.hash, s.id \
             from ipledger.events e join ipledger.payloads p using (space_id, seq) \
             join ipledger.spaces s on s.id = e.space_id order by s.id, e.seq",
            &[],
        )
        .await
        .expect("the whole ledger");
    let mut previous = [0; 32];
    let mut expected = 1;
    let mut space = 0;
    for row in &rows {
        if row.get::<_, i32>(9) != space {
            (space, expected, previous) = (row.get(9), 1, [0; 32]);
        }
        let seq: i64 = row.get(1);
        assert_eq!(seq, expected, "space {space}");
        let address = row
            .get::<_, Option<IpAddr>>(3)
            .map(|ip| (ip, row.get::<_, i32>(4).cast_unsigned()));
        let digest = payload_digest(row.get(6));
        assert_eq!(
            row.get::<_, &[u8]>(7),
            digest,
            "space {space} position {seq}"
        );
        let header = Header {
            space: row.get(0),
            seq: seq.cast_unsigned(),
            epoch: row.get::<_, i32>(2).cast_unsigned(),
            address,
            recorded_at_us: row.get(5),
            digest,
            previous,
        };
        previous = header.hash();
        assert_eq!(
            row.get::<_, &[u8]>(8),
            previous,
            "space {space} position {seq}"
        );
        expected += 1;
    }
    let heads = "select count(*) from ipledger.spaces s where s.seq <> \
        (select count(*) from ipledger.events e where e.space_id = s.id) or (s.seq > 0 and s.hash <> \
        (select e.hash from ipledger.events e where e.space_id = s.id and e.seq = s.seq))";
    assert_eq!(text(client, heads).await, "0", "heads are the last events");
    rows.len()
}

#[tokio::test]
async fn sql_and_this_crate_hash_alike() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.spaces (name) values ('prod/blue#10.0.0.0/8'), ('größe'); \
         insert into ipledger.epochs (epoch, reason) values (2, 'restored')",
    )
    .await;
    let app = role(&database, "app").await;
    let answer = Call::new(&[(1, 0), (2, 0)])
        .event(1, "10.255.0.1", 0)
        .event(1, "10.255.0.1", 1)
        .fact(1)
        .event(1, "0.0.0.0", 0)
        .event(2, "2001:db8::ffff:1", 0)
        .event(2, "::", 0)
        .event(2, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", 0)
        .fact(2)
        .append(&app)
        .await;
    let more = Call::new(&[(1, 4), (2, 4)])
        .fact(1)
        .event(2, "::", 1)
        .append(&app)
        .await;
    assert_eq!(text(&observer, BROKEN).await, "0");
    assert_eq!(verify(&observer).await, 10);
    for head in answer.iter().chain(&more) {
        let stored = format!(
            "select encode(hash, 'hex') from ipledger.events where space_id = {} and seq = {}",
            head.space.unwrap(),
            head.seq.unwrap()
        );
        let told = ledger::event::encoding::hex(head.hash.as_deref().unwrap());
        assert_eq!(
            told,
            text(&observer, &stored).await,
            "the head that was told is stored"
        );
    }
}

#[tokio::test]
async fn what_a_ledger_writes_verifies() {
    let bench = Bench::new().await;
    for number in 0..20 {
        let container = format!("c{number}");
        for range in ["10.0.0.0/24", "2001:db8::/64"] {
            let mut request = allocate(&format!("{container}{}", range.len()), range);
            request.space.network_name = format!("n{}", number % 3);
            add(&bench.ledger, request).await.unwrap();
        }
        if number % 2 == 0 {
            del(&bench.ledger, release(&format!("{container}11")))
                .await
                .unwrap();
        }
    }
    let observer = superuser(&bench.database).await;
    assert_eq!(verify(&observer).await, 50);
    assert_eq!(text(&observer, BROKEN).await, "0");
    // A changed body shows: only the superuser can, with the triggers off.
    run(
        &observer,
        "alter table ipledger.payloads disable trigger all; \
         update ipledger.payloads set body = body || ' ' where space_id = 2 and seq = 3",
    )
    .await;
    assert_eq!(text(&observer, BROKEN).await, "1");
    bench.ledger.close().await;
}
