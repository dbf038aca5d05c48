//! The real API on a database of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use embedded_postgres::testing::TestDatabase;
use ipledger_api::serve::{self, Outside};
use ipledger_api::{ListenAddress, Listener, ServeConfig, SystemIds};
use ipledger_client::asynchronous::{Client, EventFilter, HoldFilter};
use ipledger_client::types::{AllocateRequest, AllocateResponse, Event, Hold, ReleaseRequest};
use ipledger_client::{ApiAddress, Budget, ClientError, blocking};
use ledger::{StoreConfig, SystemClock};
use serde_json::json;
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

pub(crate) fn budget() -> Budget {
    Budget::within(Duration::from_secs(60))
}

impl Ledger {
    pub(crate) async fn start() -> Ledger {
        let database = TestDatabase::create().await;
        ledger::migrate(&database.url()).await.expect("migrations");
        let any_port = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&any_port).await.unwrap();
        let Ok(ListenAddress::Tcp(address)) = listener.address() else {
            panic!("a TCP listener has a TCP address");
        };
        let url = database.url_as(&format!("{}_app", database.name()));
        let store = StoreConfig::new(&url);
        let opened = ledger::Ledger::open(&store, Arc::new(SystemClock));
        let outside = Outside {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        };
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve::run(
            ServeConfig::default(),
            vec![listener],
            opened.await.expect("a ledger"),
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

    /// An ADD of a pod named after its container, in 10.10.0.0/16 unless the network is another.
    pub(crate) async fn allocate(&self, cluster: &str, range: &str, pod: &str) -> String {
        let answer = self.try_allocate(cluster, range, pod).await.unwrap();
        answer.addresses[0].address.clone()
    }

    pub(crate) async fn try_allocate(
        &self,
        cluster: &str,
        range: &str,
        pod: &str,
    ) -> Result<AllocateResponse, ClientError> {
        self.send(request(cluster, range, pod)).await
    }

    /// With `enable_overlapping_ranges: false`.
    pub(crate) async fn allocate_private(&self, cluster: &str, range: &str, pod: &str) {
        let request = AllocateRequest {
            enable_overlapping_ranges: false,
            ..request(cluster, range, pod)
        };
        self.send(request).await.unwrap();
    }

    async fn send(&self, request: AllocateRequest) -> Result<AllocateResponse, ClientError> {
        let plugin = self.plugin();
        let answer = tokio::task::spawn_blocking(move || {
            plugin.allocate(
                &request,
                Budget::within(Duration::from_secs(30)).one_round(),
            )
        });
        answer.await.unwrap()
    }

    /// The DEL to it.
    pub(crate) async fn release(&self, cluster: &str, pod: &str) {
        self.release_container(cluster, &container_id(pod)).await;
    }

    pub(crate) async fn release_container(&self, cluster: &str, container: &str) {
        let attachment = json!({
            "cluster": cluster, "network": "super-net", "container_id": container,
            "ifname": "net1",
        });
        let request: ReleaseRequest =
            serde_json::from_value(json!({ "attachment": attachment })).unwrap();
        let plugin = self.plugin();
        let answer = tokio::task::spawn_blocking(move || plugin.release(&request, budget()));
        answer.await.unwrap().unwrap();
    }

    fn plugin(&self) -> blocking::Client {
        blocking::Client::new(&[ApiAddress::Tcp(self.address)], None, "test").unwrap()
    }

    /// What the cluster holds now, or as of a position of its default space.
    pub(crate) async fn holds(&self, cluster: &str, as_of: Option<u64>) -> Vec<Hold> {
        let filter = HoldFilter {
            cluster: Some(cluster.to_owned()),
            space: as_of.map(|_| cluster.to_owned()),
            as_of,
        };
        self.client.holds(&filter, budget()).await.unwrap().holds
    }

    /// Every event of the cluster's default space.
    pub(crate) async fn events(&self, cluster: &str) -> Vec<Event> {
        let filter = EventFilter {
            space: cluster.to_owned(),
            ..EventFilter::default()
        };
        self.client.events(&filter, budget()).await.unwrap()
    }
}

fn request(cluster: &str, range: &str, pod: &str) -> AllocateRequest {
    serde_json::from_value(json!({
        "attachment": attachment(cluster, pod),
        "owner": { "namespace": "default", "name": pod, "uid": format!("uid-{pod}") },
        "ranges": [{ "range": range }],
    }))
    .unwrap()
}

fn attachment(cluster: &str, pod: &str) -> serde_json::Value {
    json!({
        "cluster": cluster, "network": "super-net", "container_id": container_id(pod),
        "ifname": "net1",
    })
}

/// As long as a real one.
pub(crate) fn container_id(pod: &str) -> String {
    let mut id: String = pod.bytes().map(|byte| format!("{byte:02x}")).collect();
    while id.len() < 64 {
        id.push('0');
    }
    id.truncate(64);
    id
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
