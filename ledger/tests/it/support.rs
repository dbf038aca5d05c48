//! Builders that keep tests short.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use address::{Window, WindowText};
use embedded_postgres::testing::TestDatabase;
use ledger::answer::{Allocated, Released};
use ledger::command::{Allocate, Release, SpaceSelector};
use ledger::model::{Actor, Attachment, OrderToken, Owner, Provenance};
use ledger::{Answer, Command, Error, Ledger, StoreConfig, SystemClock};
use uuid::Uuid;

/// Longer than anything here takes.
pub(crate) const WAIT: Duration = Duration::from_secs(20);

/// A migrated database and a ledger on it.
pub(crate) struct Bench {
    pub(crate) ledger: Ledger,
    pub(crate) database: TestDatabase,
}

impl Bench {
    pub(crate) async fn new() -> Bench {
        let database = TestDatabase::create().await;
        ledger::migrate(&database.url()).await.expect("migrations");
        let ledger = open(&database).await;
        Bench { ledger, database }
    }
}

/// Another replica on the same database.
pub(crate) async fn open(database: &TestDatabase) -> Ledger {
    let url = database.url_as(&format!("{}_app", database.name()));
    Ledger::open(&StoreConfig::new(&url), Arc::new(SystemClock))
        .await
        .expect("a ledger")
}

pub(crate) fn provenance() -> Provenance {
    Provenance {
        request_id: "test".to_owned(),
        actor: Actor {
            authenticated_by: "test".to_owned(),
            name: "test".to_owned(),
        },
        claimed_at: None,
    }
}

pub(crate) fn attachment(container: &str) -> Attachment {
    Attachment {
        cluster: "prod".to_owned(),
        container_id: container.to_owned(),
        ifname: "net1".to_owned(),
        network: "super-net".to_owned(),
    }
}

pub(crate) fn owner(pod: &str, uid: &str) -> Owner {
    Owner {
        name: pod.to_owned(),
        namespace: "default".to_owned(),
        node: Some("node-1".to_owned()),
        uid: Some(uid.to_owned()),
    }
}

pub(crate) fn window(range: &str, start: Option<&str>, end: Option<&str>) -> Window {
    Window::parse(&WindowText {
        range,
        range_start: start,
        range_end: end,
        exclude: &[],
    })
    .expect("a window")
}

pub(crate) fn token(boot: u128, boottime_ns: u64) -> OrderToken {
    OrderToken {
        boot_id: Uuid::from_u128(boot),
        boottime_ns,
    }
}

/// An allocate out of one range, by the pod `pod-<container>`.
pub(crate) fn allocate(container: &str, range: &str) -> Allocate {
    Allocate {
        attachment: attachment(container),
        owner: Some(owner(
            &format!("pod-{container}"),
            &format!("uid-{container}"),
        )),
        cluster_uid: None,
        token: None,
        space: SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        ranges: vec![window(range, None, None)],
        ips: Vec::new(),
        order: ledger::command::AddressOrder::LowestFree,
        cooldown_seconds: 0,
        sticky_seconds: 0,
        dry_run: false,
        provenance: provenance(),
    }
}

pub(crate) fn release(container: &str) -> Release {
    Release {
        cluster_uid: None,
        attachment: attachment(container),
        owner: None,
        token: None,
        provenance: provenance(),
    }
}

pub(crate) async fn add(ledger: &Ledger, request: Allocate) -> Result<Allocated, Error> {
    match ledger
        .execute(Command::Allocate(Box::new(request)), WAIT)
        .await?
    {
        Answer::Allocated(allocated) => Ok(allocated),
        other => panic!("not an allocate: {other:?}"),
    }
}

pub(crate) async fn del(ledger: &Ledger, request: Release) -> Result<Released, Error> {
    match ledger
        .execute(Command::Release(Box::new(request)), WAIT)
        .await?
    {
        Answer::Released(released) => Ok(released),
        other => panic!("not a release: {other:?}"),
    }
}

pub(crate) fn ips(allocated: &Allocated) -> Vec<String> {
    allocated
        .addresses
        .iter()
        .map(|address| address.ip.to_string())
        .collect()
}

pub(crate) fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }
}
