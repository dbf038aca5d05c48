//! `import-whereabouts` and `cut-over`: taking over from whereabouts, and giving back.

mod progress;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde::Serialize;

use super::arguments::{Connection, Output};
use super::commands::Ended;
use super::duration::duration;
use super::print;
use super::signals;
use crate::cut_over::{self, CutOver, CutOverWorld};
use crate::import::{Choices, Inventory, Report, analyse, read_cluster, submit};
use crate::project::{Comparison, ProjectionMetrics, ProjectionWorld, Projector, kube_system_uid};
use crate::run::World;
use progress::Progress;

#[derive(Debug, Args)]
pub(super) struct ImportWhereabouts {
    #[command(flatten)]
    connection: Connection,
    /// Name of the cluster in the ledger.
    #[arg(long, env = "IPLEDGER_CLUSTER", value_name = "NAME")]
    cluster: String,
    /// Read these files and not the cluster: what `kubectl get -o json` or `-o yaml` printed, lists
    /// or single objects of any kinds; `-` reads standard input.
    ///
    /// Without pods among them nothing is known to be gone, and no node or UID is inferred. The
    /// files must be of the cluster that is named: nothing in them proves it.
    #[arg(long = "file", value_name = "FILE", conflicts_with_all = ["shadow"])]
    files: Vec<PathBuf>,
    /// Namespace of the objects in the cluster.
    #[arg(
        long,
        env = "IPLEDGER_PROJECTION_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "kube-system"
    )]
    namespace: String,
    /// Say what would be imported; give nothing to the ledger.
    #[arg(long)]
    dry_run: bool,
    /// Import entries whose pod is gone as well. Nothing is known of their nodes, so they end only
    /// by hand.
    #[arg(long)]
    keep_gone: bool,
    /// Compare ledger and objects, again and again, and write nothing, until SIGINT or SIGTERM.
    #[arg(long, conflicts_with_all = ["dry_run", "keep_gone"])]
    shadow: bool,
    /// How long to wait between two comparisons.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration,
          requires = "shadow")]
    interval: Duration,
    /// How to print.
    #[arg(
        short,
        long,
        env = "IPLEDGER_OUTPUT",
        value_name = "FORMAT",
        default_value = "table"
    )]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct CutOverArguments {
    #[command(subcommand)]
    step: Step,
    #[command(flatten)]
    connection: Connection,
    /// Name of the cluster in the ledger.
    #[arg(long, env = "IPLEDGER_CLUSTER", value_name = "NAME", global = true)]
    cluster: Option<String>,
    /// Namespace of whereabouts' objects.
    #[arg(
        long,
        env = "IPLEDGER_PROJECTION_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "kube-system",
        global = true
    )]
    namespace: String,
    /// Labels of the pods that install the plugin; a node reports it by running a Ready one.
    #[arg(
        long,
        env = "IPLEDGER_PLUGIN_SELECTOR",
        value_name = "LABELS",
        default_value = cut_over::PLUGIN_SELECTOR,
        global = true
    )]
    plugin_selector: String,
    /// Import entries whose pod is gone as well.
    #[arg(long, global = true)]
    keep_gone: bool,
    /// How to print.
    #[arg(
        short,
        long,
        env = "IPLEDGER_OUTPUT",
        value_name = "FORMAT",
        default_value = "table",
        global = true
    )]
    output: Output,
}

#[derive(Debug, Subcommand)]
enum Step {
    /// Say what is still missing before the gate may be opened. Exit code 1 if anything is.
    Status,
    /// Close the gate: every ADD is told to try again from now on. The first step, before any node
    /// is swapped, in either direction.
    Close {
        /// Why; it is recorded, and shown to whoever is turned away.
        #[arg(long, value_name = "TEXT", default_value = "cut-over")]
        reason: String,
    },
    /// Import what whereabouts' objects hold now. `open` does it too, as its last look at them.
    Import,
    /// Import and open the gate, if nothing is missing. Exit code 1 if something is.
    Open {
        /// Why; it is recorded.
        #[arg(long, value_name = "TEXT", default_value = "cut-over done")]
        reason: String,
        /// Open it whatever is missing. An address may then be given to two pods.
        #[arg(long)]
        force: bool,
    },
    /// The way back: with the gate closed, write the objects one last time, for whereabouts to go
    /// on from. They are not written any more after that, as long as the gate is closed.
    HandBack,
}

pub(super) async fn import(arguments: &ImportWhereabouts) -> anyhow::Result<Ended> {
    if arguments.shadow {
        return shadow(arguments).await;
    }
    let world = arguments.connection.world();
    let (inventory, cluster_uid, world) = if arguments.files.is_empty() {
        let world = world.await?;
        let uid = kube_system_uid(&world.kube).await?;
        let inventory = read_cluster(&world.kube, Some(&arguments.namespace)).await?;
        (inventory, Some(uid), Some(world))
    } else {
        (read_files(&arguments.files)?, None, None)
    };
    let choices = Choices {
        cluster: arguments.cluster.clone(),
        cluster_uid,
        keep_gone: arguments.keep_gone,
        read_at: super::connect::now(),
    };
    let analysis = analyse(&inventory, &choices);
    let submitted = if arguments.dry_run {
        None
    } else {
        let ledger = match &world {
            Some(world) => std::sync::Arc::clone(&world.ledger),
            None => std::sync::Arc::new(arguments.connection.ledger()?),
        };
        let progress = Progress::new("holds");
        let all = analysis.holds.len();
        let submitted = submit(&analysis.holds, &ledger, |done| progress.show(done, all)).await?;
        progress.end();
        Some(submitted)
    };
    let report = Report::new(&arguments.cluster, analysis, submitted);
    show(arguments.output, &report, Report::text)?;
    Ok(ended(report.is_clean()))
}

fn read_files(files: &[PathBuf]) -> anyhow::Result<Inventory> {
    let mut inventory = Inventory::default();
    for file in files {
        let name = file.display().to_string();
        let text = if name == "-" {
            std::io::read_to_string(std::io::stdin()).context("standard input")?
        } else {
            std::fs::read_to_string(file).with_context(|| format!("--file {name}"))?
        };
        inventory.add_text(&name, &text)?;
    }
    Ok(inventory)
}

/// Compares until a signal; prints whenever something changed.
async fn shadow(arguments: &ImportWhereabouts) -> anyhow::Result<Ended> {
    let shutdown = signals::shutdown()?;
    let world = arguments.connection.world().await?;
    let mut projector = projector(arguments, &world);
    let mut last: Option<Comparison> = None;
    loop {
        let compared = shutdown.run_until_cancelled(projector.compare()).await;
        match compared {
            None => break,
            Some(Err(error)) => tracing::warn!(kind = error.kind(), "no comparison: {error}"),
            Some(Ok(comparison)) => {
                let is_news = last.as_ref().is_none_or(|last| {
                    last.differences != comparison.differences
                        || last.unreadable != comparison.unreadable
                });
                if is_news {
                    show(arguments.output, &comparison, Comparison::text)?;
                }
                last = Some(comparison);
            }
        }
        let pause = tokio::time::sleep(arguments.interval);
        if shutdown.run_until_cancelled(pause).await.is_none() {
            break;
        }
    }
    Ok(ended(last.is_some_and(|last| last.is_equal())))
}

fn projector(arguments: &ImportWhereabouts, world: &World) -> Projector {
    let settings = crate::project::ProjectionSettings {
        namespace: arguments.namespace.clone(),
        ..crate::project::ProjectionSettings::new(&arguments.cluster)
    };
    let world = ProjectionWorld {
        kube: world.kube.clone(),
        ledger: std::sync::Arc::clone(&world.ledger),
        clock: std::sync::Arc::clone(&world.clock),
        metrics: ProjectionMetrics::default(),
        instance: "shadow".to_owned(),
    };
    Projector::new(settings, world)
}

pub(super) async fn cut_over(arguments: &CutOverArguments) -> anyhow::Result<Ended> {
    let world = arguments.connection.world().await?;
    let cluster = arguments.cluster.clone();
    let cut_over = CutOver {
        cluster: cluster.context("no cluster is named: set --cluster or IPLEDGER_CLUSTER")?,
        namespace: arguments.namespace.clone(),
        plugin_selector: arguments.plugin_selector.clone(),
        keep_gone: arguments.keep_gone,
        world: CutOverWorld {
            kube: world.kube,
            ledger: world.ledger,
            clock: world.clock,
        },
    };
    let output = arguments.output;
    let progress = Progress::new("holds");
    let step = |done, all| progress.show(done, all);
    match &arguments.step {
        Step::Status => {
            let status = cut_over::status(&cut_over).await?;
            show(output, &status, cut_over::Status::text)?;
            Ok(ended(status.is_ready()))
        }
        Step::Close { reason } => {
            let gate = cut_over::close(&cut_over, reason).await?;
            show(output, &gate, |gate| {
                let since = gate.since.as_deref().unwrap_or_default();
                format!(
                    "the gate of cluster {} is closed since {since}\n",
                    cut_over.cluster
                )
            })?;
            Ok(Ended::Well)
        }
        Step::Import => {
            let report = cut_over::import_now(&cut_over, step).await?;
            progress.end();
            show(output, &report, Report::text)?;
            Ok(ended(report.is_clean()))
        }
        Step::Open { reason, force } => {
            let opened = cut_over::open(&cut_over, reason, *force, step).await?;
            progress.end();
            show(output, &opened, cut_over::Opened::text)?;
            Ok(ended(opened.opened))
        }
        Step::HandBack => {
            let handed = cut_over::hand_back(&cut_over).await?;
            show(output, &handed, cut_over::HandedBack::text)?;
            Ok(Ended::Well)
        }
    }
}

fn ended(is_well: bool) -> Ended {
    match is_well {
        true => Ended::Well,
        false => Ended::Differs,
    }
}

fn show<T: Serialize>(
    output: Output,
    value: &T,
    text: impl FnOnce(&T) -> String,
) -> anyhow::Result<()> {
    let text = match output {
        Output::Table => text(value),
        Output::Json => format!("{}\n", serde_json::to_string_pretty(value)?),
    };
    print(&text)
}
