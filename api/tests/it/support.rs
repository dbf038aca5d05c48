//! A server on a database of its own, and a client that checks every answer against the OpenAPI
//! document.

mod client;
mod document;
mod process;
mod sample;
mod sql;

pub(crate) use client::{Answer, Stream, Target, exchange, open, read_answer};
pub(crate) use document::document;
pub(crate) use process::{Process, directory, free_port, wait_until};
pub(crate) use sample::{allocate, allocate_from, attachment, release};
pub(crate) use sql::Sql;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use embedded_postgres::testing::TestDatabase;
use ipledger_api::serve::{self, Outside};
use ipledger_api::{IdSource, ListenAddress, Listener, ServeConfig};
use ledger::{Ledger, StoreConfig, SystemClock};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use uuid::Uuid;

/// Ids that tests can tell.
#[derive(Default)]
struct CountedIds(AtomicU64);

impl IdSource for CountedIds {
    fn next(&self) -> Uuid {
        Uuid::from_u128(self.0.fetch_add(1, Ordering::Relaxed).into())
    }
}

/// A server and its database.
pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    pub(crate) database: TestDatabase,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

/// Another server on the same database; it stops when dropped.
pub(crate) struct Replica {
    address: SocketAddr,
    _stop: DropGuard,
}

impl Replica {
    pub(crate) fn target(&self) -> Target {
        Target::Tcp(self.address)
    }
}

/// A server; it listens, and serves until told to stop.
async fn start_server(
    database: &TestDatabase,
    config: ServeConfig,
    tune: impl FnOnce(&mut StoreConfig),
) -> (SocketAddr, CancellationToken, JoinHandle<()>) {
    let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let Ok(ListenAddress::Tcp(address)) = listener.address() else {
        panic!("a TCP listener has a TCP address");
    };
    let ledger = open_ledger(database, tune).await;
    let stop = CancellationToken::new();
    let shutdown = stop.clone().cancelled_owned();
    let task = tokio::spawn(serve::run(
        config,
        vec![listener],
        ledger,
        outside(),
        shutdown,
    ));
    (address, stop, task)
}

impl Api {
    /// With the usual limits.
    pub(crate) async fn start() -> Api {
        Api::start_with(ServeConfig::default(), |_| {}).await
    }

    /// With other limits.
    pub(crate) async fn start_with(
        config: ServeConfig,
        tune: impl FnOnce(&mut StoreConfig),
    ) -> Api {
        let database = TestDatabase::create().await;
        ledger::migrate(&database.url()).await.expect("migrations");
        let (address, stop, task) = start_server(&database, config, tune).await;
        Api {
            address,
            database,
            stop,
            task,
        }
    }

    pub(crate) fn target(&self) -> Target {
        Target::Tcp(self.address)
    }

    /// Another server on the same database.
    pub(crate) async fn replica(&self) -> Replica {
        let (address, stop, _) = start_server(&self.database, ServeConfig::default(), |_| {}).await;
        Replica {
            address,
            _stop: stop.drop_guard(),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        exchange(&self.target(), "GET", path, &[], "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        let json = [("Content-Type", "application/json")];
        exchange(&self.target(), "POST", path, &json, &body.to_string()).await
    }

    /// A request that must succeed.
    pub(crate) async fn must_post(&self, path: &str, body: &Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 200, "{path} {body}: {}", answer.text);
        answer.json()
    }

    /// A request that must succeed.
    pub(crate) async fn must_get(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    /// The addresses that an allocate must get.
    pub(crate) async fn addresses(&self, request: &Value) -> Vec<String> {
        let answer = self.must_post("/v1/allocate", request).await;
        let addresses = answer["addresses"].as_array().unwrap();
        addresses
            .iter()
            .map(|a| a["address"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Begins the shutdown.
    pub(crate) fn begin_stop(&self) {
        self.stop.cancel();
    }

    /// Waits until the server has ended; the database stays until the answer is dropped.
    pub(crate) async fn ended(self) -> TestDatabase {
        self.stop.cancel();
        self.task.await.expect("the server does not panic");
        self.database
    }

    /// A connection as the superuser.
    pub(crate) async fn sql(&self) -> Sql {
        Sql::connect(&self.database.url()).await
    }
}

pub(crate) async fn open_ledger(
    database: &TestDatabase,
    tune: impl FnOnce(&mut StoreConfig),
) -> Ledger {
    let url = database.url_as(&format!("{}_app", database.name()));
    let mut store = StoreConfig::new(&url);
    tune(&mut store);
    Ledger::open(&store, Arc::new(SystemClock))
        .await
        .expect("a ledger")
}

pub(crate) fn outside() -> Outside {
    Outside {
        clock: Arc::new(SystemClock),
        ids: Arc::new(CountedIds::default()),
    }
}
