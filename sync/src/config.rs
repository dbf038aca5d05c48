//! What `run` and `once` are set to.

use std::net::SocketAddr;
use std::time::Duration;

use crate::diff::Settings;
use crate::lease::LeaseConfig;
use crate::observe::ReadLimits;
use crate::project::ProjectionSettings;

/// How one cluster is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookConfig {
    /// The cluster's configured name.
    pub cluster: String,
    /// Of the rules.
    pub settings: Settings,
    /// How hard the API server is asked.
    pub limits: ReadLimits,
    /// How often the heartbeats of nodes with absent pods are read.
    pub heartbeat_interval: Duration,
}

/// How the service runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunConfig {
    /// How it looks.
    pub look: LookConfig,
    /// How long at most until the next pass.
    pub period: Duration,
    /// How long events are gathered before a pass is made for them.
    pub settle: Duration,
    /// The Lease between replicas.
    pub lease: LeaseConfig,
    /// What is shown as whereabouts' objects.
    pub projection: ProjectionSettings,
    /// Where metrics and health are served.
    pub listen: SocketAddr,
}
