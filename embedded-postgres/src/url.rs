//! Connection URLs in the one spelling that tokio-postgres, sqlx and libpq all read alike.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode, utf8_percent_encode};

/// What may stay as it is in a user, database or directory name.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A URL over the unix socket in `socket_dir`.
///
/// The directory stands percent-encoded where a host name would stand: with an empty host and
/// `?host=` sqlx refuses the URL. The port is always named, because it is part of the socket's
/// file name and sqlx would otherwise take `PGPORT` from the environment.
pub(crate) fn over_socket(socket_dir: &Path, port: u16, user: &str, database: &str) -> String {
    let host = percent_encode(socket_dir.as_os_str().as_bytes(), ENCODED);
    format!(
        "postgres://{}@{host}:{port}/{}",
        encode(user),
        encode(database)
    )
}

/// A URL over TCP on this machine; the password is not in it.
pub(crate) fn over_tcp(port: u16, user: &str, database: &str) -> String {
    format!(
        "postgres://{}@127.0.0.1:{port}/{}",
        encode(user),
        encode(database)
    )
}

/// The same server and parameters, another database and, if given, another user (then without
/// the password of the first). `None` if `url` is no PostgreSQL URL.
pub(crate) fn replace(url: &str, user: Option<&str>, database: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme, "postgres" | "postgresql") {
        return None;
    }
    let (rest, query) = match rest.split_once('?') {
        Some((rest, query)) => (rest, format!("?{query}")),
        None => (rest, String::new()),
    };
    let authority = rest
        .split_once('/')
        .map_or(rest, |(authority, _)| authority);
    let (old_user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (format!("{user}@"), host),
        None => (String::new(), authority),
    };
    let user = user.map_or(old_user, |user| format!("{}@", encode(user)));
    Some(format!(
        "{scheme}://{user}{host}/{}{query}",
        encode(database)
    ))
}

fn encode(name: &str) -> String {
    utf8_percent_encode(name, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_directory_stands_encoded_as_host() {
        assert_eq!(
            over_socket(Path::new("/tmp/a b/run"), 5432, "o'neill", "d/b"),
            "postgres://o%27neill@%2Ftmp%2Fa%20b%2Frun:5432/d%2Fb"
        );
    }

    #[test]
    fn replacing_keeps_server_and_parameters() {
        let url = "postgres://postgres:secret@db:6000/postgres?sslmode=disable";
        assert_eq!(
            replace(url, None, "t_1").unwrap(),
            "postgres://postgres:secret@db:6000/t_1?sslmode=disable"
        );
        assert_eq!(
            replace(url, Some("t_1_app"), "t_1").unwrap(),
            "postgres://t_1_app@db:6000/t_1?sslmode=disable"
        );
        assert_eq!(
            replace("postgresql://db", None, "x").unwrap(),
            "postgresql://db/x"
        );
        assert_eq!(replace("mysql://db/x", None, "x"), None);
        assert_eq!(replace("db", None, "x"), None);
    }
}
