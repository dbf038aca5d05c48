//! The plans of `append` do not depend on when ANALYZE last ran, nor on what it saw.
//!
//! On a server of its own: an open transaction anywhere on a server keeps dead rows alive, and
//! those count as read.

use std::collections::BTreeMap;

use embedded_postgres::Cluster;
use ledger::Ledger;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use super::sql::{connect, run, text};
use crate::faults::servers::{open_on, prepare_as, server, temporary, until};
use crate::support::{add, allocate, attachment, del, owner, release, token};

/// Addresses that were ever used before the measurement.
const ADDRESSES: u32 = 20_000;
const RANGE: &str = "10.8.0.0/13";

/// What the statistics know, as (name, when ANALYZE runs).
const STATES: [(&str, Analyzed); 4] = [
    ("never", Analyzed::Never),
    ("empty", Analyzed::Empty),
    ("all held", Analyzed::AllHeld),
    ("all free", Analyzed::AllFree),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Analyzed {
    Never,
    Empty,
    AllHeld,
    AllFree,
}

const ANALYZE: &str = "analyze ipledger.events; analyze ipledger.payloads; \
    analyze ipledger.addresses; analyze ipledger.spaces; analyze ipledger.tombstones";

/// Two steps of `ADDRESSES` addresses and a third of half of them: half are held, half are free,
/// whatever the statistics say.
async fn fill(client: &Client, analyzed: Analyzed) {
    let analyze_if = async |wanted: Analyzed| {
        if analyzed == wanted {
            run(client, ANALYZE).await;
        }
    };
    for table in ["events", "payloads", "addresses", "spaces", "tombstones"] {
        let off = format!("alter table ipledger.{table} set (autovacuum_enabled = off)");
        run(client, &off).await;
    }
    analyze_if(Analyzed::Empty).await;
    run(
        client,
        &format!(
            "insert into ipledger.spaces (name, recorded_at) \
                 values ('prod', clock_timestamp() - interval '1 hour'); \
             insert into ipledger.space_members values ('prod', '', 1); \
             insert into ipledger.pools values (1, '{RANGE}', 1); \
             insert into ipledger.windows values (1, '{RANGE}', '10.8.0.1', '10.15.255.254', '{{}}', 1); \
             insert into ipledger.addresses (space_id, ip, step, seq, recorded_at, pool, \
                 allocated_seq, allocated_at, attachment, owner, position, cluster, network, \
                 container_id, ifname, namespace, pod, pod_uid, node, content, cooldown_seconds) \
             select 1, inet '10.8.0.0' + n, 0, n, now() - interval '1 hour', '{RANGE}', n, \
                 now() - interval '1 hour', substring(sha256(('a' || n)::bytea) for 16), \
                 substring(sha256(('o' || n)::bytea) for 16), 0, 'prod', 'super-net', 'old-' || n, \
                 'net1', 'default', 'pod-' || n, 'uid-' || n, 'node-1', n, 0 \
             from generate_series(1, {ADDRESSES}) n"
        ),
    )
    .await;
    // DELs of the last minutes that found nothing.
    run(
        client,
        &format!(
            "insert into ipledger.tombstones (attachment, cluster, node, expires_at) \
             select substring(sha256(('t' || n)::bytea) for 16), 'prod', 'node-1', \
                 now() + interval '1 hour' from generate_series(1, {ADDRESSES}) n"
        ),
    )
    .await;
    append_steps(client, 0, ADDRESSES).await;
    analyze_if(Analyzed::AllHeld).await;
    run(
        client,
        "update ipledger.addresses set step = 1, released_at = now()",
    )
    .await;
    append_steps(client, 1, ADDRESSES).await;
    analyze_if(Analyzed::AllFree).await;
    let half = "update ipledger.addresses set step = 2, released_at = null \
        where ip < inet '10.8.0.0' + 10001";
    run(client, half).await;
    append_steps(client, 2, ADDRESSES / 2).await;
    run(
        client,
        "update ipledger.spaces s set seq = e.seq, hash = e.hash from \
             (select seq, hash from ipledger.events order by seq desc limit 1) e; \
         insert into ipledger.subject_heads select id, seq from ipledger.spaces",
    )
    .await;
}

/// Guard rows and payloads of one step of the first addresses.
async fn append_steps(client: &Client, step: u32, count: u32) {
    let before = step * ADDRESSES;
    run(
        client,
        &format!(
            "insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash) \
             select 1, {before} + n, 1, now() - interval '1 hour', inet '10.8.0.0' + n, {step}, \
                 sha256('x'), sha256(('h' || {before} + n)::bytea) from generate_series(1, {count}) n; \
             insert into ipledger.payloads select 1, {before} + n, 1, 'filled', '{{}}' \
             from generate_series(1, {count}) n"
        ),
    )
    .await;
}

/// Fresh addresses, addresses used before, repeats, takeovers, releases, and releases that find
/// nothing, sixteen at a time.
async fn work(ledger: &Ledger) -> u64 {
    let mut tasks = JoinSet::new();
    for task in 0..16 {
        let ledger = ledger.clone();
        tasks.spawn(async move {
            for number in 0..25 {
                let name = format!("t{task}-n{number}");
                add(&ledger, allocate(&name, RANGE))
                    .await
                    .expect("an address used before");
                let mut repeat = allocate(&name, RANGE);
                repeat.token = Some(token(1, number));
                add(&ledger, repeat).await.expect("a repeat");
                let mut newer = allocate(&format!("{name}-newer"), RANGE);
                newer.owner = Some(owner(&format!("pod-{name}"), &format!("uid-{name}")));
                newer.attachment = attachment(&format!("{name}-newer"));
                add(&ledger, newer).await.expect("a takeover");
                add(&ledger, allocate(&format!("{name}-fresh"), "10.16.0.0/16"))
                    .await
                    .expect("a fresh address");
                for container in ["newer", "never"] {
                    let gone = release(&format!("{name}-{container}"));
                    del(&ledger, gone)
                        .await
                        .expect("a release, and one that finds nothing");
                }
            }
        });
    }
    tasks.join_all().await;
    // allocate; release and allocate; allocate; release
    16 * 25 * 5
}

/// Per table: sequential scans, rows read through indexes, and pages looked at.
async fn counters(client: &Client) -> BTreeMap<String, [i64; 3]> {
    let rows = client
        .query(
            "select t.relname::text, t.seq_scan, \
                 (select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid) \
                     ::bigint, \
                 heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit \
             from pg_stat_user_tables t join pg_statio_user_tables o using (relid) \
             where t.relname in ('events', 'payloads', 'addresses')",
            &[],
        )
        .await
        .expect("statistics");
    rows.iter()
        .map(|row| (row.get(0), [row.get(1), row.get(2), row.get(3)]))
        .collect()
}

/// A backend tells its counts at the latest when it ends: wait until there is no other.
async fn settled_counters(client: &Client) -> BTreeMap<String, [i64; 3]> {
    let others = "select count(*) from pg_stat_activity where datname = current_database() \
        and pid <> pg_backend_pid() and backend_type = 'client backend'";
    until("other connections end", async || {
        text(client, others).await == "0"
    })
    .await;
    counters(client).await
}

/// What a ledger's life costs.
async fn cost(
    cluster: &Cluster,
    database: &str,
    observer: &Client,
    life: impl AsyncFnOnce(&Ledger),
) -> BTreeMap<String, [i64; 3]> {
    let before = settled_counters(observer).await;
    let ledger = open_on(cluster, database).await;
    life(&ledger).await;
    ledger.close().await;
    let mut after = settled_counters(observer).await;
    for (table, values) in &mut after {
        for (value, old) in values.iter_mut().zip(before[table]) {
            *value -= old;
        }
    }
    after
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_analyze_saw_append_looks_single_rows_up() {
    let dir = temporary();
    let cluster = server(dir.path(), &[]).await;
    for (name, analyzed) in STATES {
        let database = format!("stats_{}", name.replace(' ', "_"));
        prepare_as(&cluster, &database).await;
        fill(&connect(&cluster.url(&database)).await, analyzed).await;
        let observer = connect(&cluster.url(&database)).await;
        // Loading reads tables whole, once; that is not what is measured.
        let loading = cost(&cluster, &database, &observer, async |_| {}).await;
        let mut events = 0;
        let working = cost(&cluster, &database, &observer, async |ledger| {
            events = work(ledger).await;
        })
        .await;
        for (table, [scans, rows, pages]) in &working {
            let [loading_scans, loading_rows, loading_pages] = loading[table];
            let per_event = |value: i64| value / i64::try_from(events).expect("small");
            let (rows, pages) = (
                per_event(rows - loading_rows),
                per_event(pages - loading_pages),
            );
            println!("{name}: {table}: per event {rows} rows through indexes, {pages} pages");
            assert_eq!(*scans, loading_scans, "{name}: {table} was scanned");
            assert!(rows <= 4, "{name}: {table}: {rows} rows per event");
            assert!(pages <= 25, "{name}: {table}: {pages} pages per event");
        }
    }
    cluster.stop().await.expect("a clean stop");
}
