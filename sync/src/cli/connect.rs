//! Clients for the cluster and the ledger, made from arguments.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use ipledger_client::ApiAddress;
use ipledger_client::asynchronous::Client as Ledger;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::arguments::Connection;
use crate::clock::SteadyClock;
use crate::metrics::Metrics;
use crate::run::World;

const USER_AGENT: &str = concat!("ipledger-sync/", env!("CARGO_PKG_VERSION"));
/// A cluster that takes longer to accept a connection is away.
const CONNECT: Duration = Duration::from_secs(5);

impl Connection {
    /// Everything that comes from outside.
    pub(super) async fn world(&self) -> anyhow::Result<World> {
        Ok(World {
            kube: self.kube().await?,
            ledger: Arc::new(self.ledger()?),
            clock: Arc::new(steady_clock()),
            ids: Arc::new(uuid::Uuid::now_v7),
            metrics: Metrics::new(),
        })
    }

    /// The ledger alone.
    pub(super) fn ledger(&self) -> anyhow::Result<Ledger> {
        let addresses = self
            .api_url
            .iter()
            .map(|text| {
                let address: Result<ApiAddress, _> = text.trim().parse();
                address.with_context(|| format!("--api-url {text:?}"))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let token = self.token_file.as_deref().map(token).transpose()?;
        Ok(Ledger::new(&addresses, token.as_deref(), USER_AGENT)?)
    }

    async fn kube(&self) -> anyhow::Result<Client> {
        let mut config = match &self.kubeconfig {
            Some(path) => from_file(path).await?,
            // A pod has both variables; a stray ~/.kube/config must not come before them.
            None if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() => {
                Config::incluster().context("the pod's own account cannot be used")?
            }
            None => Config::infer()
                .await
                .map_err(|_| anyhow::anyhow!("no cluster is named: set --kubeconfig"))?,
        };
        config.connect_timeout = Some(CONNECT);
        // A read that fails says so at once; whoever needs it reads again.
        config.default_retry = false;
        Client::try_from(config).context("the cluster's address or account cannot be used")
    }
}

async fn from_file(path: &Path) -> anyhow::Result<Config> {
    let context = || format!("--kubeconfig {}", path.display());
    let file = Kubeconfig::read_from(path).with_context(context)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
        .await
        .with_context(context)
}

fn token(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--token-file {}", path.display()))?;
    let token = text.trim();
    anyhow::ensure!(
        !token.is_empty(),
        "--token-file {} is empty",
        path.display()
    );
    Ok(token.to_owned())
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that asks the system, once"
)]
fn steady_clock() -> SteadyClock {
    SteadyClock::set_to(jiff::Timestamp::now())
}

/// The time now, for a command that needs it once.
pub(super) fn now() -> jiff::Timestamp {
    crate::clock::Clock::now(&steady_clock())
}
