//! Tells, once, what somebody else did to an object and what makes the right content.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};

use super::ObjectKey;
use super::body::{API_VERSION, FIELD_MANAGER};
use super::discrepancy::Discrepancy;
use super::plan::Cause;
use crate::clock::SharedClock;

/// How long the API server may take; the objects are right already.
const PATIENCE: Duration = Duration::from_secs(5);
/// The API server takes notes of up to 1 kB.
const LONGEST_NOTE: usize = 1000;

/// A foreign deed that was undone.
#[derive(Debug)]
pub(super) struct Deed {
    pub(super) key: ObjectKey,
    pub(super) uid: String,
    pub(super) cause: Cause,
    /// Who wrote to the object last, if somebody else did.
    pub(super) by: Option<String>,
    pub(super) differences: Vec<Discrepancy>,
}

/// Writes Events on the objects, and the log.
pub(super) struct Teller {
    events: Api<Event>,
    namespace: String,
    instance: String,
    clock: SharedClock,
}

impl Teller {
    pub(super) fn new(
        client: &Client,
        namespace: &str,
        instance: &str,
        clock: SharedClock,
    ) -> Teller {
        Teller {
            events: Api::namespaced(client.clone(), namespace),
            namespace: namespace.to_owned(),
            instance: instance.to_owned(),
            clock,
        }
    }

    /// One log line.
    pub(super) fn log(&self, deed: &Deed) {
        tracing::warn!(
            object = %deed.key,
            cause = deed.cause.as_str(),
            "an object was put right: {}",
            note(deed)
        );
    }

    /// One log line, and one Event on the object. An Event that cannot be written changes nothing.
    pub(super) async fn tell(&self, deed: &Deed) {
        self.log(deed);
        let event = self.event(deed, note(deed));
        let parameters = PostParams::default();
        let created = self.events.create(&parameters, &event);
        match tokio::time::timeout(PATIENCE, created).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(object = %deed.key, %error, "no event was written"),
            Err(_) => tracing::debug!(object = %deed.key, "no event was written in time"),
        }
    }

    fn event(&self, deed: &Deed, note: String) -> Event {
        let reason = match deed.cause {
            Cause::Deleted => "Recreated",
            _ => "Restored",
        };
        Event {
            metadata: ObjectMeta {
                generate_name: Some(format!("{}-", event_name(&deed.key.name))),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            event_time: k8s_time(self.clock.now()),
            type_: Some("Warning".to_owned()),
            reason: Some(reason.to_owned()),
            action: Some("Project".to_owned()),
            note: Some(note),
            regarding: Some(ObjectReference {
                api_version: Some(API_VERSION.to_owned()),
                kind: Some(deed.key.kind.as_str().to_owned()),
                name: Some(deed.key.name.clone()),
                namespace: Some(self.namespace.clone()),
                uid: Some(deed.uid.clone()),
                ..ObjectReference::default()
            }),
            reporting_controller: Some(FIELD_MANAGER.to_owned()),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }
}

/// The time in the words of Kubernetes' own types.
fn k8s_time(at: Timestamp) -> Option<MicroTime> {
    let at = k8s_openapi::jiff::Timestamp::from_microsecond(at.as_microsecond());
    at.ok().map(MicroTime)
}

/// Names of events may be no longer than those of other objects.
fn event_name(name: &str) -> &str {
    match name.char_indices().nth(200) {
        None => name,
        Some((end, _)) => name[..end].trim_end_matches(['.', '-']),
    }
}

/// What was wrong and what makes it right, as much of it as fits.
fn note(deed: &Deed) -> String {
    let mut note = match (deed.cause, &deed.by) {
        (Cause::Deleted, _) => "it was deleted".to_owned(),
        (_, Some(by)) => format!("it was changed by {by}"),
        (_, None) => "it was changed".to_owned(),
    };
    let total = deed.differences.len();
    for (told, difference) in deed.differences.iter().enumerate() {
        let next = format!("; {difference}");
        let more = format!("; and {} more", total - told);
        if note.len() + next.len() + more.len() > LONGEST_NOTE {
            note.push_str(&more);
            break;
        }
        note.push_str(&next);
    }
    note
}

/// What was told last about something, so that it is told once.
#[derive(Debug, Default)]
pub(super) struct Told(BTreeMap<String, String>);

impl Told {
    /// Whether this text is new for the subject.
    pub(super) fn is_news(&mut self, subject: &str, text: &str) -> bool {
        if self.0.get(subject).is_some_and(|told| told == text) {
            return false;
        }
        self.0.insert(subject.to_owned(), text.to_owned());
        true
    }

    /// The subject is well again: whatever comes next is news. `true` if there was something.
    pub(super) fn is_over(&mut self, subject: &str) -> bool {
        self.0.remove(subject).is_some()
    }

    /// None of the subjects that begin like this is unwell any more.
    pub(super) fn are_over(&mut self, prefix: &str) {
        self.0.retain(|subject, _| !subject.starts_with(prefix));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deed(count: usize) -> Deed {
        let difference = |key: usize| Discrepancy {
            entry: key.to_string(),
            object: Some("x/y net1 abc".to_owned()),
            ledger: None,
            as_of: "prod@7".to_owned(),
        };
        Deed {
            key: ObjectKey::pool("10.0.0.0-24"),
            uid: "u".to_owned(),
            cause: Cause::Edited,
            by: Some("kubectl-edit".to_owned()),
            differences: (0..count).map(difference).collect(),
        }
    }

    #[test]
    fn a_note_names_what_fits_and_counts_the_rest() {
        let all = "it was changed by kubectl-edit; 0 showed x/y net1 abc: not held as of prod@7";
        assert_eq!(note(&deed(1)), all);
        let long = note(&deed(500));
        assert!(long.len() <= LONGEST_NOTE);
        let told = long.matches("not held").count();
        assert!(told > 10);
        assert!(
            long.ends_with(&format!("; and {} more", 500 - told)),
            "{long}"
        );
    }

    #[test]
    fn a_thing_is_told_once_until_it_is_over() {
        let mut told = Told::default();
        assert!(told.is_news("a", "x"));
        assert!(!told.is_news("a", "x"));
        assert!(told.is_news("a", "y"));
        assert!(told.is_over("a"));
        assert!(!told.is_over("a"));
        assert!(told.is_news("write a", "x") && told.is_news("shape a", "x"));
        told.are_over("write ");
        assert!(told.is_news("write a", "x") && !told.is_news("shape a", "x"));
    }
}
