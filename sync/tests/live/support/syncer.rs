//! The service in this process.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ipledger_client::ApiAddress;
use ipledger_client::asynchronous::Client;
use ipledger_sync::clock::SteadyClock;
use ipledger_sync::config::{LookConfig, RunConfig};
use ipledger_sync::diff::Settings;
use ipledger_sync::lease::LeaseConfig;
use ipledger_sync::metrics::Metrics;
use ipledger_sync::observe::ReadLimits;
use ipledger_sync::project::ProjectionSettings;
use ipledger_sync::run::{World, run};
use kube::config::{KubeConfigOptions, Kubeconfig};
use test_cluster::Access;
use tokio_util::sync::CancellationToken;

use super::Scene;

/// Everything as usual, but in seconds.
pub(crate) fn quick(scene: &Scene) -> RunConfig {
    RunConfig {
        look: LookConfig {
            cluster: "prod".to_owned(),
            settings: Settings {
                grace_seconds: 1,
                unreachable_node_timeout_seconds: None,
                ..Settings::default()
            },
            limits: ReadLimits {
                timeout: Duration::from_secs(2),
                ..ReadLimits::default()
            },
            heartbeat_interval: Duration::from_millis(150),
        },
        period: Duration::from_secs(1),
        settle: Duration::from_millis(50),
        lease: LeaseConfig {
            namespace: scene.rights.namespace.clone(),
            name: "ipledger-sync".to_owned(),
            identity: "first".to_owned(),
            duration: Duration::from_secs(3),
        },
        projection: ProjectionSettings {
            namespace: scene.rights.namespace.clone(),
            ..ProjectionSettings::new("prod")
        },
        listen: "127.0.0.1:0".parse().unwrap(),
    }
}

/// A running service: a thread with a runtime of its own, as a process would be.
pub(crate) struct Syncer {
    metrics: Metrics,
    shutdown: CancellationToken,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Syncer {
    /// Through the proxy, under sync's rights.
    pub(crate) fn start(scene: &Scene, config: RunConfig) -> Syncer {
        let access = scene.proxy.access(&scene.rights.access);
        Syncer::start_at(scene, config, &access)
    }

    /// With whatever kubeconfig.
    pub(crate) fn start_at(scene: &Scene, config: RunConfig, access: &Access) -> Syncer {
        let metrics = Metrics::new();
        let shutdown = CancellationToken::new();
        let kubeconfig = kubeconfig(scene, access);
        let ledger = ApiAddress::Tcp(scene.ledger.address);
        let (counted, stop) = (metrics.clone(), shutdown.clone());
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(1)
                .enable_all()
                .build()?;
            runtime.block_on(async {
                let world = World {
                    kube: client(&kubeconfig).await,
                    ledger: Arc::new(Client::new(&[ledger], None, "ipledger-sync")?),
                    clock: Arc::new(steady_clock()),
                    ids: Arc::new(uuid::Uuid::now_v7),
                    metrics: counted,
                };
                run(config, world, stop).await
            })
        });
        Syncer {
            metrics,
            shutdown,
            thread,
        }
    }

    /// The value of a metric, by its name with labels; 0 if it is not there.
    pub(crate) fn metric(&self, name: &str) -> u64 {
        let text = self.metrics.encode().unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().unwrap())
    }

    /// Passes that judged, for whatever reason.
    pub(crate) fn passes(&self) -> u64 {
        let text = self.metrics.encode().unwrap();
        let judged = text.lines().filter(|line| {
            line.starts_with("ipledger_sync_passes_total") && line.contains("judged")
        });
        judged
            .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
            .sum()
    }

    /// Waits for passes that begin from now on.
    pub(crate) async fn more_passes(&self, count: u64) {
        let enough = self.passes() + count;
        super::until("more passes", async || self.passes() >= enough).await;
    }

    /// Why reclaim is on hold.
    pub(crate) fn on_hold(&self) -> Vec<String> {
        let text = self.metrics.encode().unwrap();
        let prefix = "ipledger_sync_reclaim_on_hold{reason=\"";
        let held = text.lines().filter_map(|line| line.strip_prefix(prefix));
        held.filter_map(|rest| rest.strip_suffix("\"} 1"))
            .map(str::to_owned)
            .collect()
    }

    /// Waits until reclaim is on hold for this reason.
    pub(crate) async fn held_by(&self, reason: &str) {
        super::until(&format!("reclaim is on hold by {reason}"), async || {
            self.on_hold() == [reason]
        })
        .await;
    }

    /// Waits until everything can be judged.
    pub(crate) async fn resumed(&self) {
        super::until("reclaim goes on", async || self.on_hold().is_empty()).await;
    }

    /// Waits until this replica acts.
    pub(crate) async fn leads(&self) {
        super::until("it has the Lease", async || self.is_leading()).await;
    }

    /// Waits until this replica acts, or has ended. Answers whether it acts.
    pub(crate) async fn leads_or_ends(&self) -> bool {
        super::until("it acts or has ended", async || {
            self.is_leading() || self.thread.is_finished()
        })
        .await;
        self.is_leading()
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.metric("ipledger_sync_leading") == 1
    }

    /// Ends it as a signal does.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        self.shutdown.cancel();
        self.ended().await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(self) -> anyhow::Result<()> {
        super::until("it ends", async || self.thread.is_finished()).await;
        self.thread.join().unwrap()
    }
}

fn kubeconfig(scene: &Scene, access: &Access) -> PathBuf {
    let name = format!("{}.kubeconfig", uuid::Uuid::new_v4());
    let path = scene.cluster.directory().join(name);
    access.write_kubeconfig(&path).unwrap();
    path
}

/// As the program makes it.
async fn client(kubeconfig: &Path) -> kube::Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(file, &options).await;
    let mut config = config.unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
fn steady_clock() -> SteadyClock {
    SteadyClock::set_to(jiff::Timestamp::now())
}
