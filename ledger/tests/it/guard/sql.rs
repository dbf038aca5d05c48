//! Raw SQL as any role.

use embedded_postgres::testing::TestDatabase;
use tokio_postgres::{Client, NoTls};

/// 32 bytes that are no hash of anything.
pub(crate) const BYTES32: &str = "decode(repeat('5a', 32), 'hex')";

/// A migrated database without a ledger on it.
pub(crate) async fn migrated() -> TestDatabase {
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await.expect("migrations");
    database
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(connection);
    client
}

/// As the superuser.
pub(crate) async fn superuser(database: &TestDatabase) -> Client {
    connect(&database.url()).await
}

/// As one of the four roles, by the end of its name. The owner cannot log in: the superuser
/// becomes it.
pub(crate) async fn role(database: &TestDatabase, suffix: &str) -> Client {
    let role = format!("{}_{suffix}", database.name());
    if suffix == "owner" {
        let client = superuser(database).await;
        run(&client, &format!("set role {role}")).await;
        return client;
    }
    connect(&database.url_as(&role)).await
}

/// A role that may insert events, which none of the service's roles may.
pub(crate) async fn make_writer(database: &TestDatabase) {
    let role = format!("{}_writer", database.name());
    let sql = format!(
        "create role {role} login; grant usage on schema ipledger to {role}; \
         grant select, insert on ipledger.events to {role}"
    );
    run(&superuser(database).await, &sql).await;
}

pub(crate) async fn run(client: &Client, sql: &str) {
    if let Err(error) = client.batch_execute(sql).await {
        panic!("{sql}: {:?}", error.as_db_error());
    }
}

/// The first column of the first row, as text.
pub(crate) async fn text(client: &Client, sql: &str) -> String {
    match client
        .query_one(&format!("select ({sql})::text"), &[])
        .await
    {
        Ok(row) => row.get::<_, Option<String>>(0).unwrap_or_default(),
        Err(error) => panic!("{sql}: {error:?}"),
    }
}

/// SQLSTATE and name of the constraint with which a statement is refused; the constraint is empty
/// where there is none.
pub(crate) async fn refusal(client: &Client, sql: &str) -> (String, String) {
    match client.batch_execute(sql).await {
        Ok(()) => ("accepted".to_owned(), String::new()),
        Err(error) => {
            let database = error.as_db_error().expect("an answer of the server");
            let constraint = database.constraint().unwrap_or_default();
            (database.code().code().to_owned(), constraint.to_owned())
        }
    }
}

/// A raw row of the guard. `ip` and `step` are SQL.
pub(crate) fn insert(space: i32, seq: i64, ip: &str, step: &str) -> String {
    format!(
        "insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash) \
         values ({space}, {seq}, 1, clock_timestamp(), {ip}, {step}, {BYTES32}, {BYTES32})"
    )
}

/// A fingerprint of every row of every table, to show that nothing changed.
pub(crate) async fn fingerprint(client: &Client) -> String {
    let tables = client
        .query(
            "select relname::text from pg_class where relnamespace = 'ipledger'::regnamespace \
             and relkind = 'r' order by 1",
            &[],
        )
        .await
        .expect("tables");
    let mut all = String::new();
    for row in tables {
        let table: String = row.get(0);
        let rows = format!(
            "select md5(string_agg(x::text, ' ' order by x::text)) from ipledger.{table} x"
        );
        all.push_str(&format!("{table} {}\n", text(client, &rows).await));
    }
    assert!(all.contains("events"), "{all}");
    all
}
