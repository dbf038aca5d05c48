//! The OpenAPI document: made from the handlers, completed with what they all share.

pub(crate) mod problems;

use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{Info, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, RefOr};
use utoipa::{PartialSchema as _, ToSchema as _};

use ipledger_client::types::{Holder, Problem, ProblemCode};

const DESCRIPTION: &str = "\
Addresses of pods, kept in an append-only ledger: one address has at most one holder, and history \
is never lost.

Times are RFC 3339 in UTC with microseconds; addresses are canonical text; durations carry their \
unit in the name. A request that cannot be answered gets an RFC 9457 problem body with a stable \
`code`, the `key` and the `value` at fault, and `retryable`: whether the same request may succeed \
later without anybody changing it. `Retry-After` says when.

Any path that is not listed answers 404 `not_found`, any other method 405 `method_not_allowed`.";

/// The document before the handlers.
pub(crate) fn base() -> OpenApi {
    let tags = [
        (
            "addresses",
            "Addresses of an attachment: what the CNI plugin asks for.",
        ),
        (
            "holds",
            "Addresses that are held now, and ways to end a hold.",
        ),
        (
            "reservations",
            "Addresses that a person set aside: nobody is given them.",
        ),
        ("history", "The ledger itself, row by row."),
        ("spaces", "Spaces, pools and windows."),
        ("clusters", "Clusters, and what is done to one as a whole."),
        ("pages", "Web pages: the ledger to look at."),
        ("service", "The service itself."),
    ];
    let tags =
        tags.map(|(name, text)| TagBuilder::new().name(name).description(Some(text)).build());
    OpenApiBuilder::new().info(info()).tags(Some(tags)).build()
}

fn info() -> Info {
    InfoBuilder::new()
        .title("ipledger")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(DESCRIPTION))
        .license(Some(LicenseBuilder::new().name("Apache-2.0").build()))
        .build()
}

/// Adds the headers that every operation takes, and the schemas of problems.
pub(crate) fn complete(mut document: OpenApi) -> OpenApi {
    for item in document.paths.paths.values_mut() {
        for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
            operation
                .parameters
                .get_or_insert_default()
                .extend(headers().map(RefOr::T));
        }
    }
    let schemas = &mut document.components.get_or_insert_default().schemas;
    for (name, schema) in [
        (Problem::name(), Problem::schema()),
        (Holder::name(), Holder::schema()),
        (ProblemCode::name(), ProblemCode::schema()),
    ] {
        schemas.insert(name.into_owned(), schema);
    }
    document
}

fn headers() -> [utoipa::openapi::path::Parameter; 2] {
    [
        (
            "X-Request-Id",
            "1 to 128 visible ASCII characters, for correlation with logs; made up if absent, and \
             echoed.",
        ),
        (
            "X-Ipledger-Actor",
            "1 to 128 visible ASCII characters: the name that events record for the caller. \
             Without it they record the user agent.",
        ),
    ]
    .map(|(name, text)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .description(Some(text))
            .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
            .build()
    })
}

/// The document as text, as it is committed.
pub(crate) fn text(document: &OpenApi) -> String {
    let mut text = document
        .to_pretty_json()
        .expect("the document has text keys and no failing serializers");
    text.push('\n');
    text
}

/// Method, path and operation, in order of path.
pub(crate) fn operations(document: &OpenApi) -> Vec<(&'static str, &str, &Operation)> {
    let mut operations = Vec::new();
    for (path, item) in &document.paths.paths {
        for (method, operation) in [("GET", &item.get), ("POST", &item.post)] {
            if let Some(operation) = operation {
                operations.push((method, path.as_str(), operation));
            }
        }
    }
    operations
}
