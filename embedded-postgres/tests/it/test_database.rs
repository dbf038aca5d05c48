//! Every test has a database of its own, and nothing of it stays.

use embedded_postgres::testing::TestDatabase;
use tokio_postgres::{Client, NoTls};

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(connection);
    client
}

async fn count(client: &Client, query: &str, name: &str) -> i64 {
    client
        .query_one(query, &[&name])
        .await
        .expect("count")
        .get(0)
}

const DATABASES: &str = "SELECT count(*) FROM pg_database WHERE datname = $1";
const ROLES: &str = "SELECT count(*) FROM pg_roles WHERE starts_with(rolname, $1)";

#[tokio::test]
async fn two_databases_do_not_see_each_other() {
    let (one, two) = (TestDatabase::create().await, TestDatabase::create().await);
    assert_ne!(one.name(), two.name());
    let (on_one, on_two) = (connect(&one.url()).await, connect(&two.url()).await);
    on_one
        .batch_execute("CREATE TABLE only_here ()")
        .await
        .unwrap();
    let seen = "SELECT count(*) FROM pg_class WHERE relname = $1";
    assert_eq!(count(&on_one, seen, "only_here").await, 1);
    assert_eq!(count(&on_two, seen, "only_here").await, 0);
}

#[tokio::test]
async fn dropping_removes_database_and_roles_under_open_connections() {
    let (witness, database) = (TestDatabase::create().await, TestDatabase::create().await);
    let witness_client = connect(&witness.url()).await;
    let name = database.name().to_owned();
    let owner = connect(&database.url()).await;
    // Another role, whose name the drop must not take for one of this database's.
    let bystander = format!("{}_bystander", witness.name());
    owner
        .batch_execute(&format!(
            "CREATE ROLE {name}_owner; CREATE ROLE {name}_app LOGIN; CREATE ROLE {bystander};
             GRANT {name}_owner TO {name}_app;
             CREATE TABLE t (); ALTER TABLE t OWNER TO {name}_owner"
        ))
        .await
        .unwrap();
    let app = connect(&database.url_as(&format!("{name}_app"))).await;
    let user: String = app
        .query_one("SELECT current_user::text", &[])
        .await
        .unwrap()
        .get(0);
    assert_eq!(user, format!("{name}_app"));

    drop(database);

    assert_eq!(count(&witness_client, DATABASES, &name).await, 0);
    assert_eq!(count(&witness_client, ROLES, &name).await, 0);
    assert_eq!(count(&witness_client, ROLES, &bystander).await, 1);
    assert!(owner.simple_query("SELECT 1").await.is_err());
}
