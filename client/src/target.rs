//! Targets of requests: a path and its query.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// Text that can stand in a path or a query.
pub(crate) fn encode(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, NON_ALPHANUMERIC)
}

/// The path with these parameters.
pub(crate) fn with_query<'a>(
    path: &str,
    parameters: impl IntoIterator<Item = (&'static str, &'a str)>,
) -> String {
    let mut target = path.to_owned();
    for (index, (key, value)) in parameters.into_iter().enumerate() {
        let separator = if index == 0 { '?' } else { '&' };
        target.push(separator);
        target.push_str(key);
        target.push('=');
        target.push_str(&encode(value).to_string());
    }
    target
}
