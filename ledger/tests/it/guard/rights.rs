//! Who may do what. Rights are tried, not read.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::sql::{fingerprint, migrated, refusal, role, run, superuser, text};

/// Every table, view and sequence of the schema.
async fn relations(client: &Client, kinds: &str) -> Vec<String> {
    let sql = format!(
        "select relname::text from pg_class where relnamespace = 'ipledger'::regnamespace \
         and relkind = any ('{kinds}') order by 1"
    );
    let rows = client.query(&sql, &[]).await.expect("the catalogue");
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn the_services_and_the_auditor_can_write_nothing() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.spaces (name) values ('prod')",
    )
    .await;
    let before = fingerprint(&observer).await;
    let tables = relations(&observer, "{r,m,p}").await;
    assert!(tables.len() >= 11, "{tables:?}");
    for who in ["app", "auditor"] {
        let client = role(&database, who).await;
        for table in &tables {
            for statement in [
                format!("insert into ipledger.{table} default values"),
                format!("delete from ipledger.{table}"),
                format!("truncate ipledger.{table} cascade"),
                format!("begin; lock table ipledger.{table} in share mode"),
                format!("select * from ipledger.{table} for update"),
                format!(
                    "create trigger t before insert on ipledger.{table} \
                    for each row execute function suppress_redundant_updates_trigger()"
                ),
            ] {
                let found = refusal(&client, &statement).await.0;
                run(&client, "rollback").await;
                assert_eq!(found, "42501", "{who}: {statement}");
            }
            run(&client, &format!("select * from ipledger.{table} limit 1")).await;
        }
        // Nothing can be written through a view, whoever asks.
        for view in relations(&observer, "{v}").await {
            for statement in [
                "insert into ipledger.V default values",
                "delete from ipledger.V",
            ] {
                let statement = statement.replace('V', &view);
                let found = refusal(&client, &statement).await.0;
                assert_eq!(found, "55000", "{who}: {statement}");
            }
        }
        for sequence in relations(&observer, "{S}").await {
            let statement = format!("select nextval('ipledger.{sequence}')");
            assert_eq!(
                refusal(&client, &statement).await.0,
                "42501",
                "{who}: {statement}"
            );
        }
        for statement in [
            "update ipledger.spaces set seq = 7".to_owned(),
            "update ipledger.epochs set epoch = 7".to_owned(),
            "create table ipledger.mine (x int)".to_owned(),
            "create function ipledger.mine() returns int language sql as 'select 1'".to_owned(),
            "insert into _sqlx_migrations values (99, 'x', now(), true, '', 0)".to_owned(),
            format!("set role {}_owner", database.name()),
            format!("set role {}_migrator", database.name()),
        ] {
            let found = refusal(&client, &statement).await.0;
            assert_eq!(found, "42501", "{who}: {statement}");
        }
    }
    assert_eq!(fingerprint(&observer).await, before);
}

#[tokio::test]
async fn the_services_can_execute_what_writes_and_the_auditor_nothing() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    let functions = observer
        .query(
            "select p.proname::text, array_to_string(array(select 'null::' || format_type(t, null) \
                 from unnest(coalesce(case p.prokind when 'p' then p.proallargtypes end, \
                     p.proargtypes::oid[])) t), ', '), \
                 p.prorettype = 'trigger'::regtype, p.prokind = 'p' \
             from pg_proc p where p.pronamespace = 'ipledger'::regnamespace order by 1",
            &[],
        )
        .await
        .expect("functions");
    assert!(functions.len() >= 6);
    for who in ["app", "auditor"] {
        let client = role(&database, who).await;
        for row in &functions {
            let (name, arguments): (String, String) = (row.get(0), row.get(1));
            let is_trigger: bool = row.get(2);
            let verb = if row.get(3) { "call" } else { "select" };
            let statement = format!("{verb} ipledger.{name}({arguments})");
            let found = refusal(&client, &statement).await.0;
            match (who, name.as_str()) {
                (
                    "app",
                    "append"
                    | "append_and_commit"
                    | "index_subjects"
                    | "note_boots"
                    | "note_boots_and_commit"
                    | "note_calls"
                    | "note_calls_and_commit"
                    | "wake",
                ) => {
                    assert_ne!(found, "42501", "{statement}");
                }
                // A trigger function is no function to call for anybody.
                _ if is_trigger => assert!(["42501", "0A000"].contains(&found.as_str()), "{found}"),
                _ => assert_eq!(found, "42501", "{who}: {statement}"),
            }
        }
    }
}

#[tokio::test]
async fn nobody_logs_in_as_the_owner_and_only_the_migrator_becomes_it() {
    let database = migrated().await;
    let owner = format!("{}_owner", database.name());
    let refused = tokio_postgres::connect(&database.url_as(&owner), tokio_postgres::NoTls).await;
    let error = refused.err().expect("a refusal");
    assert_eq!(error.code().map(SqlState::code), Some("28000"));
    let migrator = role(&database, "migrator").await;
    run(&migrator, &format!("set role {owner}")).await;
    assert_eq!(text(&migrator, "current_user").await, owner);
    let observer = superuser(&database).await;
    let members = format!(
        "select string_agg(m.rolname, ' ') from pg_auth_members a \
         join pg_roles m on m.oid = a.member join pg_roles o on o.oid = a.roleid \
         where o.rolname = '{owner}'"
    );
    assert_eq!(
        text(&observer, &members).await,
        format!("{}_migrator", database.name())
    );
}

#[tokio::test]
async fn two_databases_of_one_server_share_no_role_and_no_right() {
    let (one, two) = (migrated().await, migrated().await);
    assert_ne!(one.name(), two.name());
    let app_of_one = format!("{}_app", one.name());
    let foreigner = super::sql::connect(&two.url_as(&app_of_one)).await;
    for statement in [
        "select * from ipledger.events",
        "insert into ipledger.spaces (name) values ('x')",
        "select * from _sqlx_migrations",
    ] {
        assert_eq!(
            refusal(&foreigner, statement).await.0,
            "42501",
            "{statement}"
        );
    }
    for database in [&one, &two] {
        let own = superuser(database).await;
        let foreign = format!(
            "select count(*) from pg_class c cross join lateral aclexplode(c.relacl) a \
             join pg_roles r on r.oid = a.grantee where c.relnamespace = 'ipledger'::regnamespace \
             and not starts_with(r.rolname, '{}_')",
            database.name()
        );
        assert_eq!(text(&own, &foreign).await, "0");
    }
}
