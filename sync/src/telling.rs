//! Kubernetes Events about the Lease: what an operator should see without reading logs.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};

use crate::lease::LeaseConfig;
use crate::observe::failure_text;
use crate::reclaim::Change;

/// How long the API server may take; nothing waits for it.
const PATIENCE: Duration = Duration::from_secs(5);
/// The API server takes notes of up to 1 kB.
const LONGEST_NOTE: usize = 900;

/// Publishes events.
#[derive(Clone)]
pub(crate) struct Teller {
    recorder: Recorder,
    about: ObjectReference,
}

impl Teller {
    /// About this Lease, as this replica.
    #[must_use]
    pub(crate) fn new(client: Client, lease: &LeaseConfig) -> Self {
        let reporter = Reporter {
            controller: "ipledger-sync".to_owned(),
            instance: Some(lease.identity.clone()),
        };
        let about = ObjectReference {
            api_version: Some("coordination.k8s.io/v1".to_owned()),
            kind: Some("Lease".to_owned()),
            namespace: Some(lease.namespace.clone()),
            name: Some(lease.name.clone()),
            ..ObjectReference::default()
        };
        Self {
            recorder: Recorder::new(client, reporter),
            about,
        }
    }

    /// Tells a change in the log at once, and as an Event beside whatever comes next.
    pub(crate) fn tell(&self, change: Change) {
        let (type_, reason, note) = match change {
            Change::Held(trouble) => {
                tracing::warn!(
                    reason = trouble.reason,
                    "reclaim is on hold: {}",
                    trouble.message
                );
                let note = format!("{}: {}", trouble.reason, trouble.message);
                (EventType::Warning, "ReclaimOnHold", note)
            }
            Change::Resumed => {
                tracing::info!("reclaim goes on: every hold can be judged again");
                let note = "every hold can be judged again".to_owned();
                (EventType::Normal, "ReclaimResumed", note)
            }
        };
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.chars().take(LONGEST_NOTE).collect()),
            action: "Reclaim".to_owned(),
            secondary: None,
        };
        let teller = self.clone();
        tokio::spawn(async move { teller.publish(event).await });
    }

    async fn publish(&self, event: Event) {
        let publish = self.recorder.publish(&event, &self.about);
        let reason = match tokio::time::timeout(PATIENCE, publish).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => failure_text(&error),
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::debug!(reason, "an Event could not be published");
    }
}
