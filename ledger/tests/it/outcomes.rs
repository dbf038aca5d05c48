//! One test per heading of `docs/outcomes.md`. Where a request could meet two outcomes, the test
//! makes it meet a later one as well, so that it fails if the order of precedence changes.

mod allocate;
mod any;
mod cluster;
mod hold;
mod lists;
mod other;
mod release;
mod reserve;

use std::collections::BTreeSet;

use ledger::Error;

use crate::support::Bench;

/// The word for what became of a request.
fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(answer) => panic!("not refused: {answer:?}"),
        Err(error) => error.kind(),
    }
}

/// How many events there are.
async fn events(bench: &Bench) -> i64 {
    sqlx::query_scalar("select count(*) from ipledger.events")
        .fetch_one(&superuser(bench).await)
        .await
        .expect("a count")
}

async fn superuser(bench: &Bench) -> sqlx::PgPool {
    sqlx::postgres::PgPoolOptions::new()
        .max_connections(1)
        .connect(&bench.database.url())
        .await
        .expect("a connection")
}

#[test]
fn every_heading_has_its_test_and_every_test_its_heading() {
    let document = include_str!("../../../docs/outcomes.md");
    let headings: BTreeSet<&str> = document
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    let sources = [
        include_str!("outcomes/any.rs"),
        include_str!("outcomes/allocate.rs"),
        include_str!("outcomes/release.rs"),
        include_str!("outcomes/hold.rs"),
        include_str!("outcomes/lists.rs"),
        include_str!("outcomes/other.rs"),
        include_str!("outcomes/cluster.rs"),
        include_str!("outcomes/reserve.rs"),
    ];
    let tests: BTreeSet<&str> = sources
        .iter()
        .flat_map(|source| source.split("#[tokio::test]\nasync fn ").skip(1))
        .filter_map(|rest| rest.split('(').next())
        .collect();
    assert_eq!(headings, tests);
    assert!(headings.len() > 40, "the document was read");
}
