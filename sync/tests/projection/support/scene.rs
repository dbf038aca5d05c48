//! Everything that a test needs, each under a name of its own.

use std::sync::Arc;
use std::time::Duration;

use ipledger_sync::clock::SteadyClock;
use ipledger_sync::cut_over::{CutOver, CutOverWorld, PLUGIN_SELECTOR};
use ipledger_sync::project::{
    ProjectionMetrics, ProjectionMode, ProjectionSettings, ProjectionWorld, Projector,
    kube_system_uid,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;
use test_cluster::{Cluster, shared};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::ledger::budget;
use super::{Ledger, Objects, until};

/// A ledger that knows the cluster, and a namespace for its objects.
pub(crate) struct Scene<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) name: &'static str,
    pub(crate) admin: kube::Client,
    pub(crate) ledger: Ledger,
    pub(crate) objects: Objects,
}

/// A running projection.
pub(crate) struct World {
    registry: Registry,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Scene<'static> {
    /// In the shared cluster. The name is that of the cluster in the ledger and of the namespace.
    pub(crate) async fn start(name: &'static str) -> Scene<'static> {
        Scene::start_in(shared().await, name).await
    }
}

impl<'c> Scene<'c> {
    pub(crate) async fn start_in(cluster: &'c Cluster, name: &'static str) -> Scene<'c> {
        let filter = tracing_subscriber::EnvFilter::new("ipledger_sync=debug");
        // The first test to come sets it for all; a failing test shows what was logged.
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_test_writer();
        let _ = log.try_init();
        let admin = cluster.client().await.unwrap();
        let ledger = Ledger::start().await;
        let uid = kube_system_uid(&admin).await.unwrap();
        let bound = ledger.client.bind_cluster(name, &uid, budget()).await;
        bound.unwrap();
        let namespace = json!({ "metadata": { "name": name } });
        let namespace: Namespace = serde_json::from_value(namespace).unwrap();
        let namespaces: Api<Namespace> = Api::all(admin.clone());
        let created = namespaces.create(&PostParams::default(), &namespace).await;
        created.unwrap();
        Scene {
            cluster,
            name,
            objects: Objects::new(&admin, name),
            admin,
            ledger,
        }
    }

    pub(crate) async fn allocate(&self, range: &str, pod: &str) -> String {
        self.ledger.allocate(self.name, range, pod).await
    }

    pub(crate) fn settings(&self) -> ProjectionSettings {
        ProjectionSettings {
            namespace: self.name.to_owned(),
            settle: Duration::from_millis(50),
            interval: Duration::from_millis(300),
            ..ProjectionSettings::new(self.name)
        }
    }

    pub(crate) fn project(&self) -> World {
        self.project_with(self.settings())
    }

    pub(crate) fn project_in(&self, mode: ProjectionMode) -> World {
        let settings = self.settings();
        self.project_with(ProjectionSettings { mode, ..settings })
    }

    pub(crate) fn project_with(&self, settings: ProjectionSettings) -> World {
        let metrics = ProjectionMetrics::default();
        let mut registry = Registry::default();
        metrics.register(&mut registry);
        let world = ProjectionWorld {
            kube: self.admin.clone(),
            ledger: Arc::clone(&self.ledger.client),
            clock: Arc::new(clock()),
            metrics,
            instance: "test".to_owned(),
        };
        let shutdown = CancellationToken::new();
        let projector = Projector::new(settings, world);
        let task = tokio::spawn(projector.run(shutdown.clone()));
        World {
            registry,
            shutdown,
            task,
        }
    }

    pub(crate) fn cut_over(&self) -> CutOver {
        CutOver {
            cluster: self.name.to_owned(),
            namespace: self.name.to_owned(),
            plugin_selector: PLUGIN_SELECTOR.to_owned(),
            keep_gone: false,
            world: CutOverWorld {
                kube: self.admin.clone(),
                ledger: Arc::clone(&self.ledger.client),
                clock: Arc::new(clock()),
            },
        }
    }

    /// Waits until the objects show this many holds.
    pub(crate) async fn shows(&self, holds: usize) {
        until(&format!("{holds} holds are shown"), async || {
            self.objects.reservations().await.len() == holds
        })
        .await;
    }
}

impl World {
    /// The sum of the samples of `/metrics` that begin like this.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        let mut text = String::new();
        encode(&mut text, &self.registry).unwrap();
        let samples = text.lines().filter(|line| {
            let rest = line.strip_prefix(&format!("projection_{name}"));
            rest.is_some_and(|rest| rest.starts_with([' ', '{', ',']))
        });
        let values = samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        values.sum()
    }

    /// Waits until everything is shown.
    pub(crate) async fn settles(&self, positions: u64) {
        until("the projection has caught up", async || {
            self.metric("lag_positions") == 0.0
                && self.metric("lag_seconds") == 0.0
                && self.metric("objects") > 0.0
        })
        .await;
        assert!(positions == 0 || self.metric("differing_objects") == 0.0);
    }

    pub(crate) async fn stop(self) {
        self.shutdown.cancel();
        self.task.await.unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is set to the real time")]
pub(crate) fn clock() -> SteadyClock {
    SteadyClock::set_to(jiff::Timestamp::now())
}
