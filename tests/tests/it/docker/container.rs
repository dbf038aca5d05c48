//! The ledger on a database that testcontainers started.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use address::{Window, WindowText};
use ledger::answer::Allocated;
use ledger::command::{Allocate, SpaceSelector};
use ledger::model::{Actor, Attachment, Owner, Provenance};
use ledger::{Answer, Command, Error, Ledger, StoreConfig, SystemClock};
use testcontainers::core::{IntoContainerPort, WaitFor};
use testcontainers::runners::AsyncRunner;
use testcontainers::{GenericImage, ImageExt};

use super::{POSTGRES_IMAGE, run, script, with_engine};

const PASSWORD: &str = "only-for-this-container";
const WAIT: Duration = Duration::from_secs(20);

#[test]
fn a_database_in_a_container_serves_the_ledger() {
    let name = "docker::container::a_database_in_a_container_serves_the_ledger";
    with_engine(name, 600, || {
        run(&mut script("tests/docker/images"));
        tokio::runtime::Runtime::new()
            .expect("a runtime")
            .block_on(allocate_in_a_container());
    });
}

async fn allocate_in_a_container() {
    let container = GenericImage::new(POSTGRES_IMAGE, "latest")
        .with_exposed_port(5432.tcp())
        // The server that makes the database, before the final one, says so on stdout.
        .with_wait_for(WaitFor::message_on_stderr("ready to accept connections"))
        .with_env_var("POSTGRES_PASSWORD", PASSWORD)
        .with_env_var("POSTGRES_DB", "ipledger")
        .with_startup_timeout(Duration::from_secs(60))
        .start()
        .await
        .expect("a container");
    let port = container
        .get_host_port_ipv4(5432)
        .await
        .expect("a published port");
    let url = |user: &str| format!("postgres://{user}:{PASSWORD}@127.0.0.1:{port}/ipledger");

    let migrated = ledger::migrate(&url("postgres")).await.expect("migrations");
    assert!(migrated.applied > 0, "{migrated:?}");
    let again = ledger::migrate(&url("postgres")).await.expect("migrations");
    assert_eq!((again.applied, again.version), (0, migrated.version));

    ledger::set_app_password(&url("postgres"), PASSWORD)
        .await
        .expect("a password");
    let ledger = Ledger::open(
        &StoreConfig::new(&url("ipledger_app")),
        Arc::new(SystemClock),
    )
    .await
    .expect("a ledger");
    let first = allocate(&ledger, "one").await.expect("the only address");
    assert_eq!(first.addresses[0].ip, IpAddr::from([10, 10, 3, 30]));
    let refusal = allocate(&ledger, "two").await.expect_err("it is held");
    assert!(matches!(refusal, Error::Refused(_)), "{refusal:?}");
    let held = ledger.lookup(&attachment("one")).await.expect("a look-up");
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].ip, first.addresses[0].ip);
    ledger.close().await;
    container.rm().await.expect("no container left");
}

async fn allocate(ledger: &Ledger, container_id: &str) -> Result<Allocated, Error> {
    let request = Allocate {
        attachment: attachment(container_id),
        owner: Some(Owner {
            namespace: "default".to_owned(),
            name: format!("pod-{container_id}"),
            uid: Some(format!("uid-{container_id}")),
            node: Some("node-1".to_owned()),
        }),
        cluster_uid: None,
        token: None,
        space: SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        ranges: vec![only_address()],
        ips: Vec::new(),
        order: ledger::command::AddressOrder::LowestFree,
        cooldown_seconds: 0,
        sticky_seconds: 0,
        dry_run: false,
        provenance: Provenance {
            request_id: container_id.to_owned(),
            actor: Actor {
                authenticated_by: "none".to_owned(),
                name: "test".to_owned(),
            },
            claimed_at: None,
        },
    };
    match ledger
        .execute(Command::Allocate(Box::new(request)), WAIT)
        .await?
    {
        Answer::Allocated(allocated) => Ok(allocated),
        other => panic!("not an allocate: {other:?}"),
    }
}

fn attachment(container_id: &str) -> Attachment {
    Attachment {
        cluster: "prod".to_owned(),
        network: "super-net".to_owned(),
        container_id: container_id.to_owned(),
        ifname: "net1".to_owned(),
    }
}

fn only_address() -> Window {
    Window::parse(&WindowText {
        range: "10.10.3.0/24",
        range_start: Some("10.10.3.30"),
        range_end: Some("10.10.3.30"),
        exclude: &[],
    })
    .expect("a window of one address")
}
