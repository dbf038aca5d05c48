//! Flags of the projection, for `run`.

use std::time::Duration;

use clap::Args;

use super::duration::duration;
use crate::project::{ProjectionMode, ProjectionSettings};

/// What is shown as whereabouts' objects.
#[derive(Debug, Args)]
pub(super) struct ProjectionArguments {
    /// Whether holds are shown as whereabouts' objects (IPPool, OverlappingRangeIPReservation).
    ///
    /// `auto` writes them unless whereabouts may still be using them: before a cut-over, and while
    /// the cluster's gate is closed. `on` writes whoever made the objects that are there; a closed
    /// gate still stops it. `shadow` compares and writes nothing.
    #[arg(
        long,
        env = "IPLEDGER_PROJECTION",
        value_name = "MODE",
        default_value = "auto"
    )]
    projection: ProjectionMode,
    /// Namespace of these objects.
    #[arg(
        long,
        env = "IPLEDGER_PROJECTION_NAMESPACE",
        value_name = "NAMESPACE",
        default_value = "kube-system"
    )]
    projection_namespace: String,
    /// The least time from one projection to the next: a storm of changes becomes a few writes.
    #[arg(long, env = "IPLEDGER_PROJECTION_INTERVAL", value_name = "DURATION", default_value = "1s",
          value_parser = duration)]
    projection_interval: Duration,
}

impl ProjectionArguments {
    pub(super) fn settings(&self, cluster: &str) -> ProjectionSettings {
        ProjectionSettings {
            namespace: self.projection_namespace.clone(),
            mode: self.projection,
            interval: self.projection_interval,
            ..ProjectionSettings::new(cluster)
        }
    }
}
