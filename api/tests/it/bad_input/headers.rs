//! Wrong routes, methods and headers.

use super::Case;
use crate::support::allocate;

pub(super) fn cases() -> Vec<Case> {
    let body = allocate("c1").to_string();
    let mut cases = vec![
        Case::get(
            "/v1/addresses",
            "path",
            "/v1/addresses",
            "path \"/v1/addresses\" is no route of GET; see /openapi.json",
        )
        .is(404, "not_found"),
        Case::post(
            "/v1/allocate/",
            &body,
            "path",
            "/v1/allocate/",
            "path \"/v1/allocate/\" is no route of POST; see /openapi.json",
        )
        .is(404, "not_found"),
        Case::get(
            "/v1/allocate",
            "method",
            "GET",
            "method \"GET\" is not taken by /v1/allocate, which takes POST",
        )
        .is(405, "method_not_allowed"),
        Case::post(
            "/v1/holds",
            &body,
            "method",
            "POST",
            "method \"POST\" is not taken by /v1/holds, which takes GET",
        )
        .is(405, "method_not_allowed"),
    ];
    let delete = "method \"DELETE\" is not taken by /v1/spaces, which takes GET, POST";
    let mut case = Case::get("/v1/spaces", "method", "DELETE", delete);
    case.method = "DELETE";
    cases.push(case.is(405, "method_not_allowed"));
    for (value, detail) in [
        (
            Some("text/plain"),
            "Content-Type \"text/plain\" is not application/json",
        ),
        (
            Some("application/x-www-form-urlencoded"),
            "Content-Type \"application/x-www-form-urlencoded\" is not application/json",
        ),
        (None, "Content-Type \"\" is not application/json"),
    ] {
        let key = "Content-Type";
        let mut case = Case::post("/v1/allocate", &body, key, value.unwrap_or(""), detail);
        case.headers = value
            .map(|value| (key, value.to_owned()))
            .into_iter()
            .collect();
        cases.push(case.is(415, "unsupported_media_type"));
    }
    let detail = "Content-Encoding \"gzip\" is not taken; send plain JSON";
    let mut case = Case::post("/v1/allocate", &body, "Content-Encoding", "gzip", detail);
    case.headers.push(("Content-Encoding", "gzip".to_owned()));
    cases.push(case.is(415, "unsupported_media_type"));
    let long = "a".repeat(129);
    for value in ["two words", &long] {
        let problem = "is not 1 to 128 visible ASCII characters";
        let detail = format!("X-Ipledger-Actor {value:?} {problem}");
        let mut case = Case::post("/v1/allocate", &body, "X-Ipledger-Actor", value, &detail);
        case.headers.push(("X-Ipledger-Actor", value.to_owned()));
        cases.push(case);
    }
    cases
}
