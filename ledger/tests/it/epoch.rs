//! An epoch that was begun by hand is in every event and receipt from then on.

use ledger::begin_epoch;

use crate::guard::sql::{superuser, text};
use crate::support::{Bench, add, allocate, open};

#[tokio::test]
async fn events_and_receipts_carry_the_epoch_that_was_begun() {
    let bench = Bench::new().await;
    let running = &bench.ledger;
    let before = add(running, allocate("c1", "10.0.0.0/24")).await.unwrap();
    assert_eq!(before.epoch, 1);
    let name = bench.database.name();
    let url = bench.database.url_as(&format!("{name}_migrator"));
    assert_eq!(begin_epoch(&url, "restored").await.unwrap(), 2);
    assert_eq!(begin_epoch(&url, "restored again").await.unwrap(), 3);
    let after = add(running, allocate("c2", "10.0.0.0/24")).await.unwrap();
    assert_eq!(after.epoch, 3);
    let other = open(&bench.database).await;
    let there = add(&other, allocate("c3", "10.0.0.0/24")).await.unwrap();
    assert_eq!(there.epoch, 3);
    let reasons = "select string_agg(reason, ', ' order by epoch) from ipledger.epochs";
    assert_eq!(
        text(&superuser(&bench.database).await, reasons).await,
        "created, restored, restored again"
    );
    ledger::check(&bench.database.url())
        .await
        .expect("a whole guard");
}

#[tokio::test]
async fn the_service_may_not_begin_one() {
    let bench = Bench::new().await;
    let name = bench.database.name();
    for role in ["app", "auditor"] {
        let url = bench.database.url_as(&format!("{name}_{role}"));
        let refused = begin_epoch(&url, "restored").await.unwrap_err();
        assert!(
            refused.to_string().contains("permission denied"),
            "{refused}"
        );
    }
}
