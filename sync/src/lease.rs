//! One replica acts: the one that holds a Kubernetes Lease.
//!
//! [`Candidate`] takes and renews it; [`Held`] tells how long this replica may still act. That
//! ends at two thirds of the Lease's duration after the last renewal was sent, by this process's
//! own clock, while others wait for the whole duration after they saw it: so the one stops before
//! another begins.

mod decide;
mod error;
mod place;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use decide::{Memory, Step};
pub use error::LeaseError;
pub use place::{NAMESPACE_FILE, namespace};

use crate::clock::SharedClock;

/// How long one request about the Lease may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Which Lease, and who wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseConfig {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// This replica's identity, unlike any other's.
    pub identity: String,
    /// How long others wait for a holder that is silent. A third of it passes between renewals.
    pub duration: Duration,
}

/// Annotations that go with every renewal; `None` removes one.
pub type Annotations = Arc<dyn Fn() -> BTreeMap<String, Option<String>> + Send + Sync>;

/// Wants the Lease, and keeps it.
pub struct Candidate {
    api: Api<Lease>,
    config: LeaseConfig,
    clock: SharedClock,
    annotations: Annotations,
    memory: Memory,
    until: watch::Sender<Option<Timestamp>>,
}

/// How long this replica may still act.
#[derive(Clone)]
pub struct Held {
    until: watch::Receiver<Option<Timestamp>>,
    clock: SharedClock,
}

impl Held {
    /// Zero if the Lease is not held.
    #[must_use]
    pub fn left(&self) -> Duration {
        let until = *self.until.borrow();
        until.map_or(Duration::ZERO, |until| {
            let left = until.duration_since(self.clock.now());
            Duration::try_from(left).unwrap_or(Duration::ZERO)
        })
    }

    /// Waits until the Lease is held.
    pub async fn won(&mut self) {
        while self.left().is_zero() {
            if self.until.changed().await.is_err() {
                // Nobody will take it any more.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until it is not held any more.
    pub async fn lost(&self) {
        let mut until = self.until.clone();
        loop {
            let left = self.left();
            if left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(left) => {}
                Ok(()) = until.changed() => {}
            }
        }
    }
}

impl Candidate {
    /// Does nothing until [`Candidate::first_round`] and [`Candidate::run`].
    #[must_use]
    pub fn new(
        client: Client,
        config: LeaseConfig,
        clock: SharedClock,
        annotations: Annotations,
    ) -> (Self, Held) {
        let (until, receiver) = watch::channel(None);
        let held = Held {
            until: receiver,
            clock: Arc::clone(&clock),
        };
        let candidate = Self {
            api: Api::namespaced(client, &config.namespace),
            config,
            clock,
            annotations,
            memory: Memory::default(),
            until,
        };
        (candidate, held)
    }

    /// One look at the Lease, which shows whether it can be used at all.
    ///
    /// # Errors
    /// [`LeaseError::is_final`] tells whether trying again would help.
    pub async fn first_round(&mut self) -> Result<(), LeaseError> {
        self.round().await.map(drop)
    }

    /// Takes the Lease whenever it is free and renews it, until the shutdown, which gives it up.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let mut failed = None;
        loop {
            let pause = match self.round().await {
                Ok(true) => self.config.duration / 3,
                Ok(false) => self.config.duration / 5,
                Err(error) => {
                    let text = error.to_string();
                    if failed.as_ref() != Some(&text) {
                        tracing::warn!(kind = error.kind(), %error, "the Lease is out of reach");
                        failed = Some(text);
                    }
                    self.config.duration / 10
                }
            };
            if failed.is_some() && pause > self.config.duration / 10 {
                tracing::info!("the Lease is in reach again");
                failed = None;
            }
            if shutdown
                .run_until_cancelled(tokio::time::sleep(pause))
                .await
                .is_none()
            {
                break;
            }
        }
        self.give_up().await;
    }

    /// Looks and acts once. Whether this replica holds the Lease now.
    async fn round(&mut self) -> Result<bool, LeaseError> {
        let read = self.request("get", self.api.get(&self.config.name)).await;
        let lease = match read {
            Ok(lease) => Some(lease),
            Err(error) if error.is_missing() => None,
            Err(error) => return Err(error),
        };
        let now = self.clock.now();
        let step = self
            .memory
            .decide(lease.as_ref(), &self.config.identity, now);
        let sent_at = self.clock.now();
        let post = PostParams::default();
        let written = match (step, lease) {
            (Step::Wait, _) => {
                self.until.send_if_modified(|until| until.take().is_some());
                return Ok(false);
            }
            (_, None) => {
                let lease = self.renewed(Lease::default(), sent_at, false);
                self.request("create", self.api.create(&post, &lease)).await
            }
            (step, Some(lease)) => {
                let lease = self.renewed(lease, sent_at, step == Step::Take);
                let update = self.api.replace(&self.config.name, &post, &lease);
                self.request("update", update).await
            }
        };
        match written {
            Ok(lease) => {
                self.memory.note(&lease, self.clock.now());
                self.hold(sent_at);
                Ok(true)
            }
            // Somebody else was faster.
            Err(error) if error.is_conflict() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn hold(&self, sent_at: Timestamp) {
        let duration = SignedDuration::try_from(self.config.duration * 2 / 3);
        let until = sent_at + duration.unwrap_or(SignedDuration::ZERO);
        let before = self.until.send_replace(Some(until));
        if before.is_none_or(|before| before < sent_at) {
            let LeaseConfig {
                namespace,
                name,
                identity,
                ..
            } = &self.config;
            tracing::info!(
                namespace,
                name,
                identity,
                "this replica has the Lease and acts"
            );
        }
    }

    /// The Lease as it is written: everything else in it stays.
    fn renewed(&self, mut lease: Lease, now: Timestamp, taken: bool) -> Lease {
        let LeaseConfig {
            name,
            identity,
            duration,
            ..
        } = &self.config;
        lease.metadata.name = Some(name.clone());
        let annotations = lease.metadata.annotations.get_or_insert_default();
        for (key, value) in (self.annotations)() {
            match value {
                Some(value) => annotations.insert(key, value),
                None => annotations.remove(&key),
            };
        }
        let spec = lease.spec.get_or_insert_default();
        decide::write(spec, identity, *duration, now, taken);
        lease
    }

    /// So that another replica need not wait.
    async fn give_up(self) {
        if self.until.borrow().is_none() {
            return;
        }
        self.until.send_replace(None);
        let name = self.config.name.clone();
        let Ok(mut lease) = self.request("get", self.api.get(&name)).await else {
            return;
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(self.config.identity.as_str()) {
            return;
        }
        spec.holder_identity = None;
        let post = PostParams::default();
        let update = self.api.replace(&name, &post, &lease);
        match self.request("update", update).await {
            Ok(_) => tracing::info!("the Lease is given up"),
            Err(error) => tracing::warn!(%error, "the Lease could not be given up; it expires"),
        }
    }

    async fn request<T>(
        &self,
        verb: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, LeaseError> {
        let answer = tokio::time::timeout(PATIENCE.min(self.config.duration / 3), request).await;
        let LeaseConfig {
            namespace, name, ..
        } = &self.config;
        match answer {
            Ok(Ok(object)) => Ok(object),
            Ok(Err(error)) => Err(LeaseError::of(&error, verb, namespace, name)),
            Err(_) => Err(LeaseError::Unreachable("no answer in time".to_owned())),
        }
    }
}

#[cfg(test)]
#[path = "lease/tests.rs"]
mod tests;
