//! What the commands do.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use uuid::Uuid;

use super::arguments::{Command, LeaseArguments, Once, Output, Run};
use super::signals;
use super::takeover;
use crate::config::RunConfig;
use crate::lease::{LeaseConfig, NAMESPACE_FILE, namespace};
use crate::once::{OnceConfig, once};
use crate::rights;
use crate::run;

/// How a command ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Well,
    Differs,
}

pub(super) async fn run(command: Command) -> anyhow::Result<Ended> {
    match command {
        Command::Run(arguments) => serve(&arguments).await,
        Command::Once(arguments) => look(&arguments).await,
        Command::ImportWhereabouts(arguments) => takeover::import(&arguments).await,
        Command::CutOver(arguments) => takeover::cut_over(&arguments).await,
    }
}

async fn serve(arguments: &Run) -> anyhow::Result<Ended> {
    let shutdown = signals::shutdown()?;
    let config = RunConfig {
        look: arguments.looking.config(),
        period: arguments.period,
        settle: arguments.settle,
        lease: lease(&arguments.lease)?,
        projection: arguments.projection.settings(&arguments.looking.cluster),
        listen: arguments.metrics_listen,
    };
    let world = arguments.connection.world().await?;
    run::run(config, world, shutdown).await?;
    Ok(Ended::Well)
}

fn lease(arguments: &LeaseArguments) -> anyhow::Result<LeaseConfig> {
    let given = arguments.lease_namespace.as_deref();
    Ok(LeaseConfig {
        namespace: namespace(given, Path::new(NAMESPACE_FILE))?,
        name: arguments.lease_name.clone(),
        identity: identity(),
        duration: Duration::from_secs(arguments.lease_duration.into()),
    })
}

/// The host's name, which is the pod's, and something that no other process there has.
fn identity() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let unique = Uuid::new_v4().simple().to_string();
    format!("{host}_{}", &unique[..12])
}

async fn look(arguments: &Once) -> anyhow::Result<Ended> {
    let world = arguments.connection.world().await?;
    let config = arguments.looking.config();
    let missing = rights::missing(&world.kube, &rights::to_look()).await;
    let missing = missing.map_err(|reason| anyhow::anyhow!("the cluster is away: {reason}"))?;
    if let Some(complaint) = missing.complaint() {
        anyhow::bail!(complaint);
    }
    let how = OnceConfig {
        dry_run: arguments.dry_run,
        wait: arguments.wait.unwrap_or(Duration::ZERO),
    };
    let findings = once(config, how, &world).await?;
    let text = match arguments.output {
        Output::Table => findings.table(),
        Output::Json => {
            let mut text = serde_json::to_string_pretty(&findings)?;
            text.push('\n');
            text
        }
    };
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .context("stdout is closed")?;
    Ok(if findings.differs {
        Ended::Differs
    } else {
        Ended::Well
    })
}
