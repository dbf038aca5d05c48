//! What all pages have in common.

use maud::{DOCTYPE, Markup, html};

use super::answer::View;
use super::links;
use crate::problem::Failure;

/// A page.
pub(super) fn page(view: &View) -> Markup {
    let content = html! {
        h1 { (view.title) }
        (view.stamp.render())
        (view.lead)
        @for table in &view.tables { (table.render(&view.here)) }
        (view.after)
    };
    frame(&view.title, &view.here, &content)
}

/// The page that says what is wrong with a request.
pub(super) fn failure(failure: &Failure, request_id: &str) -> Markup {
    let code = failure.code();
    let content = html! {
        h1 { (code.title()) }
        p.problem role="alert" { (failure.detail()) }
        dl {
            dt { "Status" } dd { (code.status()) }
            dt { "Code" } dd { code { (code.as_str()) } }
            @if let Some(key) = failure.key() { dt { "Key" } dd { code { (key) } } }
            @if let Some(value) = failure.value() { dt { "Value" } dd { code { (value) } } }
            dt { "Request id" } dd { code { (request_id) } }
        }
        @if code.is_retryable() { p { "The same request may succeed later: reload the page." } }
        p { "Nothing was read, so this page has no position. Go on from the " a href="/" { "overview" } "." }
    };
    frame(code.title(), "", &content)
}

/// Around the content of every page.
pub(super) fn frame(title: &str, here: &str, content: &Markup) -> Markup {
    let sections = [("/", "Overview"), ("/live", "Live events"), ("/api", "API")];
    let section = here.split('?').next().unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · ipledger" }
                link rel="icon" type="image/svg+xml" href=(links::ICON);
                link rel="stylesheet" href=(links::STYLE);
                script src=(links::SCRIPT) defer {}
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    a.brand href="/" { "ipledger" }
                    nav aria-label="Sections" {
                        ul {
                            @for (path, name) in sections {
                                li { a href=(path) aria-current=[(path == section).then_some("page")] { (name) } }
                            }
                        }
                    }
                    form.find role="search" action="/find" method="get" {
                        label for="find" { "Find" }
                        input #find type="search" name="q" required
                            placeholder="address, CIDR or namespace/pod";
                        button { "Go" }
                    }
                }
                main #content tabindex="-1" { (content) }
                footer {
                    p { "Everything here is read from the ledger; nothing here changes it. Times are UTC." }
                }
            }
        }
    }
}
