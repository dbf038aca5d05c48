//! Which problems an operation may answer with; one list per kind of operation.

use std::collections::BTreeMap;

use ipledger_client::types::ProblemCode;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use ProblemCode as Code;

/// Any request may be malformed or hit a fault of the service.
const ANY: &[Code] = &[Code::InvalidRequest, Code::Internal];
/// What comes with a body.
const BODY: &[Code] = &[
    Code::InvalidRequest,
    Code::UnsupportedMediaType,
    Code::BodyTooLarge,
    Code::DeadlinePassed,
    Code::Internal,
];
/// What the writer lane may say to anything.
const LANE: &[Code] = &[
    Code::DeadlinePassed,
    Code::Overloaded,
    Code::DatabaseUnavailable,
    Code::ShuttingDown,
];
/// What a write may end in.
const WRITE: &[Code] = &[Code::OutcomeUnknown];
/// What a read may end in.
const READ: &[Code] = &[
    Code::DeadlinePassed,
    Code::Overloaded,
    Code::DatabaseUnavailable,
    Code::ShuttingDown,
];

macro_rules! problems {
    ($($name:ident: [$($list:expr),*];)*) => {
        $(
            pub(crate) struct $name;

            impl utoipa::IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    by_status(&[$($list),*])
                }
            }
        )*
    };
}

problems! {
    AllocateProblems: [BODY, LANE, WRITE, &[
        Code::ClusterMismatch, Code::AttachmentConflict, Code::Stale, Code::Deleted, Code::Gated,
        Code::SpaceConflict, Code::AddressOutsideWindow, Code::AddressTaken,
        Code::AddressReserved, Code::AddressKept, Code::AddressCooling, Code::Exhausted,
        Code::Kept, Code::Cooling,
    ]];
    ReleaseProblems: [BODY, LANE, WRITE, &[Code::ClusterMismatch]];
    LookUpProblems: [ANY, READ, &[Code::NotFound]];
    ListHoldsProblems: [ANY, READ, &[Code::NotFound]];
    ReleaseHoldProblems: [BODY, LANE, WRITE, &[
        Code::NotFound, Code::ClusterMismatch, Code::AddressReserved, Code::StepMismatch,
    ]];
    ReserveProblems: [BODY, LANE, WRITE, &[
        Code::SpaceConflict, Code::AddressTaken, Code::AddressReserved, Code::AddressKept,
    ]];
    GiveBackProblems: [BODY, LANE, WRITE, &[
        Code::NotFound, Code::AddressTaken, Code::StepMismatch,
    ]];
    ImportProblems: [BODY, LANE, WRITE, &[
        Code::ClusterMismatch, Code::SpaceConflict, Code::AddressTaken, Code::AddressReserved,
        Code::AddressKept, Code::AddressCooling,
    ]];
    ListProblems: [ANY, READ];
    ListInSpaceProblems: [ANY, READ, LANE, &[Code::NotFound]];
    DeclareSpaceProblems: [BODY, LANE, WRITE, &[Code::SpaceConflict]];
    BindClusterProblems: [BODY, LANE, WRITE, &[Code::ClusterMismatch]];
    GateProblems: [BODY, LANE, WRITE, &[Code::ClusterMismatch]];
    ReleaseClusterProblems: [BODY, LANE, WRITE, &[Code::NotFound, Code::ClusterMismatch]];
    CheckRangesProblems: [BODY, LANE, &[Code::SpaceConflict]];
    GarbageProblems: [BODY, LANE, WRITE, &[Code::ClusterMismatch]];
    ReadyProblems: [ANY, &[Code::DatabaseUnavailable, Code::ShuttingDown]];
    PlainProblems: [ANY];
}

/// One response per status, which lists the codes that come with it.
fn by_status(lists: &[&[Code]]) -> BTreeMap<String, RefOr<Response>> {
    let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
    // In the order of the catalogue, each once.
    for &code in Code::ALL {
        if lists.iter().any(|list| list.contains(&code)) {
            by_status.entry(code.status()).or_default().push(code);
        }
    }
    by_status
        .into_iter()
        .map(|(status, codes)| (status.to_string(), RefOr::T(response(&codes))))
        .collect()
}

fn response(codes: &[Code]) -> Response {
    let lines: Vec<String> = codes
        .iter()
        .map(|code| format!("- `{}`: {}.", code.as_str(), code.title()))
        .collect();
    let content = ContentBuilder::new()
        .schema(Some(Ref::from_schema_name("Problem")))
        .build();
    let mut response = ResponseBuilder::new()
        .description(lines.join("\n"))
        .content("application/problem+json", content);
    if codes.iter().any(|code| code.is_retryable()) {
        let header = HeaderBuilder::new()
            .schema(Some(ObjectBuilder::new().schema_type(Type::Integer)))
            .description(Some("Seconds after which the same request may succeed."))
            .build();
        response = response.header("Retry-After", header);
    }
    response.build()
}
