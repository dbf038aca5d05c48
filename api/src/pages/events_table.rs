//! Events as rows, the same on every page.

use jiff::Timestamp;
use ledger::Event;
use maud::html;
use serde_json::Value;

use super::table::{Cell, Table};
use super::{links, words};
use crate::wire;

/// The script writes rows of live events in the same order.
pub(super) const COLUMNS: &[&str] = &[
    "Event",
    "Recorded",
    "Address",
    "Step",
    "Pod",
    "Node",
    "Reason",
    "Actor",
    "Actor's time",
];

/// A table of events.
pub(super) fn table(
    name: &'static str,
    caption: String,
    events: &[Event],
    now: Timestamp,
) -> Table {
    Table {
        name,
        caption,
        columns: COLUMNS,
        rows: events.iter().map(|event| row(event, now)).collect(),
    }
}

fn row(event: &Event, now: Timestamp) -> Vec<Cell> {
    let subject = Subject::of(event);
    let address = match event.ip {
        Some(ip) => Cell::link(ip, links::address(Some(&event.space), ip, None)),
        None => Cell::default(),
    };
    let pod = match subject.pod {
        Some((namespace, name)) => Cell::link(
            format!("{namespace}/{name}"),
            links::pod(subject.cluster, namespace, name),
        ),
        None => Cell::text(
            subject
                .sandbox
                .map(|id| format!("sandbox {id}"))
                .unwrap_or_default(),
        ),
    };
    vec![
        Cell::link(
            format!("{} {} {}", event.space, event.seq, event.kind),
            links::event(&event.space, event.seq),
        ),
        Cell::shown(
            wire::time(event.recorded_at),
            html! { (words::aged(now, event.recorded_at)) },
        ),
        address,
        Cell::text(event.step.map(|step| step.to_string()).unwrap_or_default()),
        pod,
        Cell::text(subject.node.unwrap_or_default()),
        Cell::text(event.payload["reason"].as_str().unwrap_or_default()),
        Cell::text(event.payload["actor"]["name"].as_str().unwrap_or_default()),
        Cell::text(event.claimed_at.map(wire::time).unwrap_or_default()),
    ]
}

/// Whom an event is about: for a release, whose hold ends.
pub(super) struct Subject<'a> {
    pub(super) cluster: Option<&'a str>,
    pub(super) pod: Option<(&'a str, &'a str)>,
    pub(super) node: Option<&'a str>,
    pub(super) sandbox: Option<&'a str>,
}

impl<'a> Subject<'a> {
    pub(super) fn of(event: &'a Event) -> Self {
        let part = |part: &str| -> &'a Value {
            let ended = &event.payload["ended"];
            let from = if ended.is_object() {
                ended
            } else {
                &event.payload
            };
            &from[part]
        };
        let (owner, attachment) = (part("owner"), part("attachment"));
        Self {
            cluster: attachment["cluster"].as_str(),
            pod: owner["namespace"].as_str().zip(owner["name"].as_str()),
            node: owner["node"].as_str(),
            sandbox: attachment["container_id"].as_str(),
        }
    }

    /// In a few words.
    pub(super) fn words(&self) -> String {
        match (self.pod, self.sandbox) {
            (Some((namespace, name)), _) => format!("{namespace}/{name}"),
            (None, Some(sandbox)) => format!("sandbox {sandbox}"),
            (None, None) => "unknown holder".to_owned(),
        }
    }
}
