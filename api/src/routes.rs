//! The routes, one file per resource.

mod addresses;
mod changes;
mod clusters;
mod difference;
mod events;
pub(crate) mod follow;
mod garbage;
mod gates;
pub(crate) mod history;
mod holds;
mod imports;
pub(crate) mod pools;
mod ranges;
mod reservations;
mod service;
mod spaces;
mod unmatched;
mod wakeups;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Documents};
use crate::openapi;
use crate::pages;

/// The router, and the documents that describe it.
pub(crate) fn assemble() -> (Router<Arc<App>>, Documents) {
    let (router, document) = router().split_for_parts();
    let document = openapi::complete(document);
    let documents = Documents {
        page: Bytes::from(pages::operations::index(&document).into_string()),
        openapi: Bytes::from(openapi::text(&document)),
    };
    let router = router
        .fallback(unmatched::route)
        .method_not_allowed_fallback(unmatched::method);
    (router, documents)
}

/// The OpenAPI document as text, as `/openapi.json` and `ipledger-api openapi` give it.
#[must_use]
pub fn openapi_text() -> String {
    openapi::text(&openapi::complete(router().into_openapi()))
}

fn router() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(openapi::base())
        .routes(routes!(addresses::allocate))
        .routes(routes!(addresses::release))
        .routes(routes!(addresses::look_up))
        .routes(routes!(holds::list))
        .routes(routes!(holds::release))
        .routes(routes!(imports::import))
        .routes(routes!(reservations::list, reservations::reserve))
        .routes(routes!(reservations::give_back))
        .routes(routes!(events::list))
        .routes(routes!(history::show))
        .routes(routes!(follow::follow))
        .routes(routes!(difference::show))
        .routes(routes!(spaces::list, spaces::declare))
        .routes(routes!(clusters::list))
        .routes(routes!(clusters::bind))
        .routes(routes!(clusters::release))
        .routes(routes!(gates::set))
        .routes(routes!(wakeups::list))
        .routes(routes!(changes::list))
        .routes(routes!(pools::list_pools))
        .routes(routes!(pools::list_windows))
        .routes(routes!(ranges::check))
        .routes(routes!(garbage::collect))
        .routes(routes!(service::health))
        .routes(routes!(service::ready))
        .routes(routes!(service::metrics))
        .routes(routes!(service::openapi))
        .routes(routes!(pages::overview::show))
        .routes(routes!(pages::pool::show))
        .routes(routes!(pages::address::show))
        .routes(routes!(pages::pod::show))
        .routes(routes!(pages::event::show))
        .routes(routes!(pages::live::show))
        .routes(routes!(pages::find::show))
        .routes(routes!(pages::operations::show))
        .routes(routes!(pages::assets::style))
        .routes(routes!(pages::assets::script))
        .routes(routes!(pages::assets::icon))
}
