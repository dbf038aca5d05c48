//! The URL of every view.

use std::fmt::Display;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::wire;

pub(super) const STYLE: &str = "/pages.css";
pub(super) const SCRIPT: &str = "/pages.js";
pub(super) const ICON: &str = "/pages.svg";

/// What may stand in a query as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/');

/// A path with the parameters that are there.
pub(super) fn url(path: &str, parameters: &[(&str, Option<&str>)]) -> String {
    let mut url = path.to_owned();
    let mut mark = '?';
    for (key, value) in parameters {
        if let Some(value) = value {
            url.push(mark);
            url.push_str(key);
            url.push('=');
            url.extend(utf8_percent_encode(value, PLAIN));
            mark = '&';
        }
    }
    url
}

/// One more parameter.
pub(super) fn with(url: &str, key: &str, value: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{key}={}", utf8_percent_encode(value, PLAIN))
}

pub(super) fn pool(space: &str, cidr: IpNet, part: Option<IpNet>, at: Option<Timestamp>) -> String {
    let part = part.map(text);
    let at = at.map(wire::time);
    url(
        "/pool",
        &[
            ("space", Some(space)),
            ("cidr", Some(&cidr.to_string())),
            ("part", part.as_deref()),
            ("at", at.as_deref()),
        ],
    )
}

pub(super) fn address(space: Option<&str>, ip: IpAddr, at: Option<Timestamp>) -> String {
    let at = at.map(wire::time);
    url(
        "/address",
        &[
            ("address", Some(&ip.to_string())),
            ("space", space),
            ("at", at.as_deref()),
        ],
    )
}

pub(super) fn pod(cluster: Option<&str>, namespace: &str, name: &str) -> String {
    url(
        "/pod",
        &[
            ("namespace", Some(namespace)),
            ("pod", Some(name)),
            ("cluster", cluster),
        ],
    )
}

pub(super) fn event(space: &str, seq: u64) -> String {
    url(
        "/event",
        &[("space", Some(space)), ("seq", Some(&text(seq)))],
    )
}

fn text(value: impl Display) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_absent_ones_left_out() {
        assert_eq!(
            url(
                "/x",
                &[
                    ("a", Some("b c&d=é")),
                    ("e", None),
                    ("f", Some("10.0.0.0/24"))
                ]
            ),
            "/x?a=b%20c%26d%3D%C3%A9&f=10.0.0.0/24"
        );
        assert_eq!(with("/x", "csv", "holds"), "/x?csv=holds");
        assert_eq!(with("/x?a=b", "csv", "holds"), "/x?a=b&csv=holds");
    }
}
