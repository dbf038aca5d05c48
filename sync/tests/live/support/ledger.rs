//! The real API on a database of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use embedded_postgres::testing::TestDatabase;
use ipledger_api::serve::{self, Outside};
use ipledger_api::{ListenAddress, Listener, ServeConfig, SystemIds};
use ipledger_client::asynchronous::{Client, EventFilter, HoldFilter};
use ipledger_client::types::{AllocateRequest, AllocateResponse, Event};
use ipledger_client::{ApiAddress, Budget, ClientError, blocking};
use ipledger_sync::diff::Evidence;
use ledger::{StoreConfig, SystemClock};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A server and its database.
pub(crate) struct Ledger {
    pub(crate) address: SocketAddr,
    pub(crate) client: Arc<Client>,
    stop: CancellationToken,
    _task: JoinHandle<()>,
    _database: TestDatabase,
}

/// Who wants an address, and from where.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) uid: Option<&'a str>,
    pub(crate) node: Option<&'a str>,
    /// First and last address of 10.10.3.0/24.
    pub(crate) window: (u8, u8),
}

/// A release by sync, as the ledger keeps it.
#[derive(Debug)]
pub(crate) struct Released {
    pub(crate) address: String,
    pub(crate) step: u32,
    pub(crate) reason: String,
    pub(crate) evidence: Evidence,
}

fn budget() -> Budget {
    Budget::within(Duration::from_secs(30))
}

impl Ledger {
    pub(crate) async fn start() -> Ledger {
        let database = TestDatabase::create().await;
        ledger::migrate(&database.url()).await.expect("migrations");
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let Ok(ListenAddress::Tcp(address)) = listener.address() else {
            panic!("a TCP listener has a TCP address");
        };
        let url = database.url_as(&format!("{}_app", database.name()));
        let store = StoreConfig::new(&url);
        let opened = ledger::Ledger::open(&store, Arc::new(SystemClock)).await;
        let outside = Outside {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve::run(
            ServeConfig::default(),
            vec![listener],
            opened.expect("a ledger"),
            outside,
            stop.clone().cancelled_owned(),
        ));
        let client = Client::new(&[ApiAddress::Tcp(address)], None, "test").unwrap();
        Ledger {
            address,
            client: Arc::new(client),
            stop,
            _task: task,
            _database: database,
        }
    }

    /// An ADD, as the plugin sends it; the attachment is new each time.
    pub(crate) async fn try_allocate(
        &self,
        want: Want<'_>,
    ) -> Result<AllocateResponse, ClientError> {
        let container = format!("{:032x}", uuid::Uuid::new_v4().as_u128());
        let request: AllocateRequest = serde_json::from_value(json!({
            "attachment": {
                "cluster": want.cluster, "network": "super-net", "container_id": container,
                "ifname": "net1",
            },
            "owner": {
                "namespace": want.namespace, "name": want.pod, "uid": want.uid,
                "node": want.node,
            },
            "ranges": [{
                "range": "10.10.3.0/24",
                "range_start": format!("10.10.3.{}", want.window.0),
                "range_end": format!("10.10.3.{}", want.window.1),
            }],
        }))
        .unwrap();
        let addresses = [ApiAddress::Tcp(self.address)];
        let plugin = blocking::Client::new(&addresses, None, "test").unwrap();
        let answer = tokio::task::spawn_blocking(move || plugin.allocate(&request, budget()));
        answer.await.unwrap()
    }

    /// The address that an ADD must get.
    pub(crate) async fn allocate(&self, want: Want<'_>) -> String {
        let answer = self.try_allocate(want).await.unwrap();
        answer.addresses[0].address.clone()
    }

    /// What the cluster holds now.
    pub(crate) async fn held(&self, cluster: &str) -> Vec<String> {
        let filter = HoldFilter {
            cluster: Some(cluster.to_owned()),
            ..HoldFilter::default()
        };
        let reading = self.client.holds(&filter, budget()).await.unwrap();
        reading.holds.into_iter().map(|hold| hold.address).collect()
    }

    /// Every event of all spaces.
    pub(crate) async fn events(&self) -> Vec<Event> {
        let mut events = Vec::new();
        for space in self.client.spaces(budget()).await.unwrap() {
            let filter = EventFilter {
                space: space.name,
                ..EventFilter::default()
            };
            events.extend(self.client.events(&filter, budget()).await.unwrap());
        }
        events
    }

    /// Every release by sync in the history, each of which must rest on evidence that leads to
    /// it when it is judged again.
    pub(crate) async fn releases(&self) -> Vec<Released> {
        let events = self.events().await.into_iter();
        let by_sync = |event: &Event| {
            let reason = event.payload["reason"].as_str().unwrap_or_default();
            event.kind == "released" && reason.starts_with("sync: ")
        };
        let released = events.filter(by_sync);
        released.map(|event| Released::of(&event)).collect()
    }

    /// The release of this address, once it is there.
    pub(crate) async fn release_of(&self, address: &str) -> Released {
        super::until(&format!("{address} is freed"), async || {
            let releases = self.releases().await;
            releases.iter().any(|release| release.address == address)
        })
        .await;
        let releases = self.releases().await.into_iter();
        let mut of_address = releases.filter(|release| release.address == address);
        of_address.next().unwrap()
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Released {
    fn of(event: &Event) -> Released {
        let payload = &event.payload;
        let reason = payload["reason"].as_str().unwrap().to_owned();
        let evidence: Value = payload["evidence"].clone();
        let evidence: Evidence =
            serde_json::from_value(evidence).unwrap_or_else(|error| panic!("{error} in {payload}"));
        assert!(evidence.follows_from_its_reads(), "{evidence:#?}");
        let step = event.step.unwrap();
        assert_eq!(evidence.hold.key.step + 1, step);
        Released {
            address: event.address.clone().unwrap(),
            step,
            reason,
            evidence,
        }
    }
}
