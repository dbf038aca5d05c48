//! Requests that no route takes.

use http::{Method, Uri};
use ipledger_client::types::ProblemCode;

use crate::operation::Operation;
use crate::problem::{Failure, shown};

pub(super) async fn route(method: Method, uri: Uri) -> Failure {
    let path = uri.path();
    let detail = format!(
        "path {:?} is no route of {method}; see /openapi.json",
        shown(path)
    );
    Failure::new(ProblemCode::NotFound, detail).about("path", path)
}

pub(super) async fn method(method: Method, uri: Uri) -> Failure {
    let takes = Operation::methods_of(uri.path()).join(", ");
    let detail = format!(
        "method \"{method}\" is not taken by {}, which takes {takes}",
        uri.path()
    );
    Failure::new(ProblemCode::MethodNotAllowed, detail).about("method", method.as_str())
}
