//! Spaces: list them, and declare a shared one.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{DeclareSpaceRequest, ProblemCode, Space, SpacePage};
use ledger::Command;
use ledger::answer::Answer;
use ledger::command::DeclareSpace;
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, JsonBody, Query};
use crate::openapi::problems::{DeclareSpaceProblems, ListProblems};
use crate::problem::{Failure, Keys};
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;
/// The most members of one declaration.
const MOST_MEMBERS: usize = 256;

/// Which spaces.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct SpacesQuery {
    /// How many spaces a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before.
    cursor: Option<String>,
}

/// List spaces
///
/// In order of name, each with the head of its stream.
#[utoipa::path(
    get, path = "/v1/spaces", operation_id = "list_spaces", tag = "spaces",
    params(SpacesQuery),
    responses((status = 200, description = "A page of spaces.", body = SpacePage), ListProblems),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<SpacePage>, Failure> {
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    let cursor = Cursor::new("spaces", []);
    let after: Option<String> = given.map(|text| cursor.read(&text)).transpose()?;
    let mut rows = app.read(&context, app.ledger.spaces()).await?;
    rows.retain(|row| after.as_ref().is_none_or(|after| row.name > *after));
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let next = cursor.cut(&mut rows, limit, |last| last.name.clone())?;
    Ok(Json(SpacePage {
        spaces: rows.into_iter().map(wire::space).collect(),
        next,
    }))
}

/// Declare a shared space
///
/// From here on the network names of several clusters resolve to one space, in which an address
/// is unique. Declaring the same again changes nothing; a member that has used a space of its
/// own is refused.
#[utoipa::path(
    post, path = "/v1/spaces", operation_id = "declare_space", tag = "spaces",
    request_body = DeclareSpaceRequest,
    responses(
        (status = 200, description = "The space; durable.", body = Space),
        DeclareSpaceProblems,
    ),
)]
pub(super) async fn declare(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<DeclareSpaceRequest>,
) -> Result<Json<Space>, Failure> {
    let command = Command::DeclareSpace(Box::new(command(value, &context)?));
    let name = match app.ledger.execute(command, context.time_left(None)).await {
        Ok(Answer::SpaceDeclared(name)) => name,
        Ok(_) => return Err(Failure::wrong_answer()),
        Err(error) => return Err(app.explain(error, Keys::default()).await),
    };
    let rows = app.read(&context, app.ledger.spaces()).await?;
    let row = rows.into_iter().find(|row| row.name == name);
    let row = row
        .ok_or_else(|| Failure::internal(format!("space {name} was declared and is not there")))?;
    Ok(Json(wire::space(row)))
}

fn command(
    request: DeclareSpaceRequest,
    context: &RequestContext,
) -> Result<DeclareSpace, Failure> {
    check::dns_label("name", &request.name)?;
    let count = request.members.len();
    if !(1..=MOST_MEMBERS).contains(&count) {
        let detail = format!("members has {count} entries; 1 to {MOST_MEMBERS} are taken");
        let failure = Failure::new(ProblemCode::InvalidRequest, detail);
        return Err(failure.about("members", &count.to_string()));
    }
    let mut members: Vec<(String, String)> = Vec::with_capacity(count);
    for (index, member) in request.members.into_iter().enumerate() {
        check::cluster(
            format!("members[{index}].cluster").as_str(),
            &member.cluster,
        )?;
        if let Some(name) = &member.network_name {
            check::network_name(format!("members[{index}].network_name").as_str(), name)?;
        }
        let member = (member.cluster, member.network_name.unwrap_or_default());
        if members.contains(&member) {
            let name = ledger::model::space_name(&member.0, &member.1, None);
            return Err(Failure::invalid(
                format!("members[{index}]"),
                &name,
                "appears twice",
            ));
        }
        members.push(member);
    }
    Ok(DeclareSpace {
        name: format!("shared:{}", request.name),
        members,
        provenance: context.provenance(None),
    })
}
