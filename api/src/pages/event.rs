//! One event in full, with its proof.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::ProblemCode;
use ledger::event::encoding::{Header, canonical_json, hex, payload_digest, sorted};
use ledger::{Event, EventQuery};
use maud::{Markup, html};
use serde_json::Value;

use super::answer::{Asked, View};
use super::events_table::Subject;
use super::stamp::{Position, Stamp};
use super::table::{Cell, Table};
use super::{links, words};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::wire;

/// Event
///
/// A web page: one event in full, with evidence, decision record, digest, hash and the hash of its
/// predecessor, all computed anew from what is stored.
#[utoipa::path(
    get, path = "/event", operation_id = "page_event", tag = "pages",
    params(
        ("space" = String, Query, description = "Name of the space."),
        ("seq" = u64, Query, description = "Position, from 1 on."),
        ("csv" = Option<String>, Query, description = "Only this table, as CSV."),
    ),
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        ListInSpaceProblems,
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    asked: Asked,
    mut query: Query,
) -> Response {
    let csv = query.text("csv");
    let view = view(&app, &context, query).await;
    asked.answer(&context, csv.as_deref(), view)
}

async fn view(app: &App, context: &RequestContext, mut query: Query) -> Result<View, Failure> {
    let space = query.required("space")?;
    let seq = query
        .number("seq")?
        .ok_or_else(|| Failure::missing("seq"))?;
    query.end()?;
    check::space("space", &space)?;
    let seq = check::position("seq", Some(seq))?;
    let Some(after_seq) = seq.checked_sub(1) else {
        return Err(Failure::invalid(
            "seq",
            "0",
            "is no position: the first event has 1",
        ));
    };
    let stamp = Stamp::read(app, context, Some(&space), None).await?;
    let query = EventQuery {
        space: space.clone(),
        address: None,
        after_seq,
        limit: 1,
    };
    let events = app.read(context, app.ledger.events(&query)).await?;
    let Some(event) = events.first().filter(|event| event.seq == seq) else {
        let detail = format!("seq \"{seq}\" is not recorded in space {space:?} yet");
        return Err(Failure::new(ProblemCode::NotFound, detail).about("seq", &seq.to_string()));
    };
    Ok(View {
        title: format!("Event {seq} of space {space}"),
        here: links::event(&space, seq),
        lead: lead(event, &stamp),
        tables: vec![fields(event, &stamp)],
        after: html! {
            h2 #payload { "Payload as recorded" }
            div.scroll role="region" aria-labelledby="payload" tabindex="0" {
                pre { code { (serde_json::to_string_pretty(&event.payload).unwrap_or_default()) } }
            }
        },
        stamp,
    })
}

fn lead(event: &Event, stamp: &Stamp) -> Markup {
    let head = match &stamp.position {
        Position::Space { seq, .. } => *seq,
        Position::All { .. } => event.seq,
    };
    let subject = Subject::of(event);
    let reason = event.payload["reason"].as_str().unwrap_or_default();
    html! {
        p.answer {
            @if let Some(ip) = event.ip {
                a href=(links::address(Some(&event.space), ip, None)) { (ip) } " "
            }
            b { (event.kind) } " "
            @if let Some((namespace, name)) = subject.pod {
                a href=(links::pod(subject.cluster, namespace, name)) { (namespace) "/" (name) } " "
            }
            "(" (reason) "), recorded " (words::aged(stamp.now, event.recorded_at))
        }
        nav aria-label="Neighbours" {
            p.ways {
                @if event.seq > 1 { a rel="prev" href=(links::event(&event.space, event.seq - 1)) { "Event " (event.seq - 1) } }
                @if event.seq > 1 && event.seq < head { " · " }
                @if event.seq < head { a rel="next" href=(links::event(&event.space, event.seq + 1)) { "Event " (event.seq + 1) } }
            }
        }
        (proof(event))
    }
}

/// Digest and hash, computed anew.
fn proof(event: &Event) -> Markup {
    let digest = match &event.payload {
        Value::Object(object) => Some(payload_digest(&canonical_json(&sorted(object)))),
        _ => None,
    };
    let header = Header {
        space: &event.space,
        seq: event.seq,
        epoch: event.epoch,
        address: event.ip.zip(event.step),
        recorded_at_us: event.recorded_at.as_microsecond(),
        digest: event.digest,
        previous: event.previous_hash,
    };
    let verdict = |equal| match equal {
        true => html! { span.good { "✓ computed anew: equal" } },
        false => html! { span.bad role="alert" { "✗ computed anew: differs" } },
    };
    html! {
        section.proof aria-labelledby="proof-title" {
            h2 #proof-title { "Proof" }
            dl {
                dt { "Hash of the event before it" }
                dd {
                    code.hash { (hex(&event.previous_hash)) } " "
                    @if event.seq == 1 { "the first event has none" }
                    @else { a href=(links::event(&event.space, event.seq - 1)) { "event " (event.seq - 1) } }
                }
                dt { "Digest of the payload" }
                dd {
                    code.hash { (hex(&event.digest)) } " "
                    @match digest {
                        Some(digest) => (verdict(digest == event.digest)),
                        None => "the payload was moved away",
                    }
                }
                dt { "Hash" }
                dd { code.hash { (hex(&event.hash)) } " " (verdict(header.hash() == event.hash)) }
            }
            details {
                summary { "What the hash covers" }
                pre { code { (header.text()) } }
            }
            p.hint {
                "Whoever owns the database could compute a whole chain anew: only a checkpoint kept "
                "elsewhere shows that."
            }
        }
    }
}

/// Every field, the parts of the payload one by one.
fn fields(event: &Event, stamp: &Stamp) -> Table {
    let mut rows = vec![
        plain("space", &event.space),
        plain("seq", event.seq),
        plain("epoch", event.epoch),
        plain("kind", &event.kind),
        vec![
            Cell::text("recorded_at: the ledger's time"),
            Cell::shown(
                wire::time(event.recorded_at),
                html! {
                    (wire::time(event.recorded_at)) " (" (words::ago(stamp.now, event.recorded_at)) ")"
                },
            ),
        ],
        plain(
            "claimed_at: the actor's time",
            event.claimed_at.map_or("not said".to_owned(), wire::time),
        ),
    ];
    if let Some(ip) = event.ip {
        let link = links::address(Some(&event.space), ip, None);
        rows.push(vec![Cell::text("address"), Cell::link(ip, link)]);
        rows.push(plain("step", event.step.unwrap_or(0)));
        if let Some(seq) = event.predecessor_seq {
            let link = links::event(&event.space, seq);
            rows.push(vec![
                Cell::text("step before it"),
                Cell::link(format!("event {seq}"), link),
            ]);
        }
    }
    flatten("", &event.payload, &mut rows);
    rows.push(plain("encoding", event.encoding));
    rows.push(plain("digest", hex(&event.digest)));
    rows.push(plain("hash", hex(&event.hash)));
    rows.push(plain("previous_hash", hex(&event.previous_hash)));
    Table {
        name: "fields",
        caption: "Fields: who acted, why, on which evidence, and how it was decided".to_owned(),
        columns: &["Field", "Value"],
        rows,
    }
}

fn plain(name: &str, value: impl ToString) -> Vec<Cell> {
    vec![Cell::text(name), Cell::text(value)]
}

/// `decision.window.first` and the like, one row each.
fn flatten(path: &str, value: &Value, rows: &mut Vec<Vec<Cell>>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(&path, value, rows);
            }
        }
        // Stands above already, from the row itself.
        Value::String(_) if path == "kind" => {}
        Value::Null => {}
        Value::String(text) => rows.push(plain(path, text)),
        other => rows.push(plain(path, other)),
    }
}
