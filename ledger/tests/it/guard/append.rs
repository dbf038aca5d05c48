//! The contract of `append`: the right heads or nothing, all or nothing.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::call::Call;
use super::sql::{fingerprint, migrated, role, run, superuser, text};
use embedded_postgres::testing::TestDatabase;

/// Spaces 1, 2 and 3, the first two with three events each, and the service's connection.
async fn with_spaces() -> (TestDatabase, Client, Client) {
    let database = migrated().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.spaces (name) values ('one'), ('two'), ('three')",
    )
    .await;
    let app = role(&database, "app").await;
    Call::new(&[(1, 0), (2, 0)])
        .event(1, "10.0.0.1", 0)
        .event(1, "10.0.0.2", 0)
        .event(1, "10.0.0.2", 1)
        .event(2, "10.0.0.1", 0)
        .event(2, "2001:db8::1", 0)
        .fact(2)
        .append(&app)
        .await;
    (database, app, observer)
}

#[tokio::test]
async fn wrong_heads_change_nothing_and_return_the_right_ones() {
    let (_database, app, observer) = with_spaces().await;
    let before = fingerprint(&observer).await;
    for heads in [
        vec![(1, 2)],
        vec![(1, 4)],
        vec![(1, 3), (2, 2)],
        vec![(1, 9), (2, 9)],
        vec![(1, 3), (3, 1)],
    ] {
        let answer = Call::new(&heads)
            .event(1, "10.0.0.3", 0)
            .send(&app)
            .await
            .unwrap();
        assert_eq!(answer.len(), heads.len());
        for (row, (space, _)) in answer.iter().zip(&heads) {
            assert_eq!(
                (row.outcome.as_str(), row.space),
                ("moved", Some(*space)),
                "{heads:?}"
            );
            let head = format!(
                "select seq || ' ' || encode(hash, 'hex') from ipledger.spaces where id = {space}"
            );
            let hash = row
                .hash
                .as_deref()
                .map(ledger::event::encoding::hex)
                .unwrap();
            let told = format!("{} {hash}", row.seq.unwrap());
            assert_eq!(told, text(&observer, &head).await);
        }
    }
    assert_eq!(fingerprint(&observer).await, before);
}

#[tokio::test]
async fn a_space_that_is_gone_is_a_moved_head() {
    let (_database, app, observer) = with_spaces().await;
    let before = fingerprint(&observer).await;
    let answer = Call::new(&[(1, 3), (99, 0)])
        .event(1, "10.0.0.3", 0)
        .send(&app)
        .await
        .unwrap();
    let told: Vec<_> = answer
        .iter()
        .map(|row| (row.outcome.as_str(), row.seq))
        .collect();
    assert_eq!(told, [("moved", Some(3))]);
    let alone = Call::new(&[(99, 0)]).fact(99).send(&app).await.unwrap();
    assert_eq!((alone[0].outcome.as_str(), alone[0].seq), ("moved", None));
    assert_eq!(fingerprint(&observer).await, before);
}

#[tokio::test]
async fn a_batch_is_all_or_none() {
    let (_database, app, observer) = with_spaces().await;
    let before = fingerprint(&observer).await;
    let good = || Call::new(&[(1, 3), (2, 3)]).event(1, "10.0.0.3", 0);
    for (call, constraint) in [
        (good().event(2, "10.0.0.1", 0), "events_step"),
        (good().event(2, "10.0.0.1", 2), "events_predecessor"),
        (
            good().event(2, "::ffff:10.0.0.1", 0),
            "events_address_canonical",
        ),
        (good().event(1, "10.0.0.3", 0), "events_step"),
    ] {
        let error = call.send(&app).await.expect_err("a forged event");
        let refused = error.as_db_error().expect("an answer of the server");
        assert_eq!(refused.constraint(), Some(constraint));
        assert_eq!(fingerprint(&observer).await, before, "{constraint}");
    }
    // An event of a space whose head was not given has no position.
    let error = good()
        .event(3, "10.0.0.1", 0)
        .send(&app)
        .await
        .expect_err("no head");
    assert_eq!(error.code().map(SqlState::code), Some("22004"));
    assert_eq!(fingerprint(&observer).await, before);
    good().append(&app).await;
}

/// Locks are taken in ascending order, and the answer is read beside the heads.
#[tokio::test]
async fn heads_come_in_ascending_order_each_once() {
    let (_database, app, observer) = with_spaces().await;
    let before = fingerprint(&observer).await;
    for heads in [[(2, 3), (1, 3)], [(1, 3), (1, 3)]] {
        let call = Call::new(&heads).event(1, "10.0.0.9", 0);
        let error = call.send(&app).await.expect_err("refused");
        assert_eq!(error.code().map(SqlState::code), Some("22023"), "{heads:?}");
    }
    assert_eq!(fingerprint(&observer).await, before);
}

/// Events need not be grouped: no stream gets another's position, name or hash.
#[tokio::test]
async fn events_may_come_in_any_order_of_their_spaces() {
    let (_database, app, observer) = with_spaces().await;
    let answer = Call::new(&[(1, 3), (2, 3)])
        .event(2, "10.0.0.9", 0)
        .event(1, "10.0.0.9", 0)
        .event(2, "10.0.0.9", 1)
        .append(&app)
        .await;
    assert_eq!(
        answer.iter().map(|row| row.seq).collect::<Vec<_>>(),
        [Some(4), Some(5)]
    );
    assert_eq!(text(&observer, super::chain::BROKEN).await, "0");
}

#[tokio::test]
async fn time_of_record_never_runs_backwards() {
    let (_database, app, observer) = with_spaces().await;
    run(
        &observer,
        "update ipledger.spaces set recorded_at = clock_timestamp() + interval '1 hour' where id = 3",
    )
    .await;
    let ahead: i64 = text(
        &observer,
        "select (extract(epoch from recorded_at) * 1000000)::bigint from ipledger.spaces where id = 3",
    )
    .await
    .parse()
    .unwrap();
    let first = Call::new(&[(2, 3), (3, 0)])
        .fact(2)
        .fact(3)
        .fact(3)
        .append(&app)
        .await;
    assert!(
        first[0].recorded_at_us.unwrap() < ahead,
        "another stream has its own time"
    );
    assert_eq!(first[1].recorded_at_us, Some(ahead));
    let second = Call::new(&[(3, 2)]).fact(3).append(&app).await;
    assert_eq!(second[0].recorded_at_us, Some(ahead));
    let backwards = "select count(*) from ipledger.events a join ipledger.events b \
        on b.space_id = a.space_id and b.seq = a.seq + 1 where b.recorded_at < a.recorded_at";
    assert_eq!(text(&observer, backwards).await, "0");
}

#[tokio::test]
async fn an_answer_without_events_still_looks_at_the_heads() {
    let (_database, app, observer) = with_spaces().await;
    let before = fingerprint(&observer).await;
    let answer = Call::new(&[(1, 3), (3, 0)]).append(&app).await;
    assert_eq!(
        answer.iter().map(|row| row.seq).collect::<Vec<_>>(),
        [Some(3), Some(0)]
    );
    assert_eq!(answer[1].recorded_at_us, None);
    let moved = Call::new(&[(1, 2)]).send(&app).await.unwrap();
    assert_eq!(moved[0].outcome, "moved");
    assert_eq!(
        Call::new(&[]).append(&app).await[0].seq,
        None,
        "no head was asked for"
    );
    assert_eq!(fingerprint(&observer).await, before);
}
