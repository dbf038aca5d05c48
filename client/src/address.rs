use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// Where an API listens: a literal IP address and port, or the path of a unix socket.
///
/// Host names are refused: the resolver of glibc is not part of a static binary, which the plugin
/// is, and an address manager must not depend on a name service that runs in the cluster it
/// serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ApiAddress {
    /// `http://127.0.0.1:8311`, `http://[::1]:8311`.
    Tcp(SocketAddr),
    /// `unix:/run/ipledger/api.sock` or `unix:///run/ipledger/api.sock`.
    Unix(PathBuf),
}

/// The text is no API address. The message says why, and does not repeat the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ApiAddressError(&'static str);

const NOT_LITERAL: ApiAddressError = ApiAddressError(
    "names a host or no port; write a literal address, for example http://127.0.0.1:8311, \
     http://[::1]:8311 or unix:/run/ipledger/api.sock",
);

impl FromStr for ApiAddress {
    type Err = ApiAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(path) = text.strip_prefix("unix:") {
            return unix(path);
        }
        if text.starts_with("https:") {
            return Err(ApiAddressError(
                "asks for TLS, which is not spoken; use http or unix",
            ));
        }
        let rest = text.strip_prefix("http://").unwrap_or(text);
        if rest.contains("://") {
            return Err(ApiAddressError("has an unknown scheme; use http or unix"));
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#', '@']) {
            return Err(ApiAddressError("may not carry a path, a query or a user"));
        }
        let socket: SocketAddr = authority.parse().map_err(|_| NOT_LITERAL)?;
        if socket.port() == 0 {
            return Err(ApiAddressError("has port 0, on which nothing listens"));
        }
        Ok(ApiAddress::Tcp(socket))
    }
}

fn unix(path: &str) -> Result<ApiAddress, ApiAddressError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    if !path.starts_with('/') {
        return Err(ApiAddressError("needs the absolute path of a socket"));
    }
    // sun_path has 108 bytes and must end in a NUL.
    if path.len() > 107 || path.contains('\0') {
        return Err(ApiAddressError(
            "has a path that no unix socket can have (at most 107 bytes)",
        ));
    }
    Ok(ApiAddress::Unix(PathBuf::from(path)))
}

impl fmt::Display for ApiAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiAddress::Tcp(socket) => write!(formatter, "http://{socket}"),
            ApiAddress::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_addresses_and_paths_are_taken() {
        for (text, shown) in [
            ("http://127.0.0.1:8311", "http://127.0.0.1:8311"),
            ("http://127.0.0.1:8311/", "http://127.0.0.1:8311"),
            ("127.0.0.1:8311", "http://127.0.0.1:8311"),
            ("http://[::1]:8311", "http://[::1]:8311"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("unix:///run/a.sock", "unix:/run/a.sock"),
        ] {
            assert_eq!(text.parse::<ApiAddress>().unwrap().to_string(), shown);
        }
    }

    #[test]
    fn what_cannot_be_reached_is_refused_with_the_reason() {
        for (text, reason) in [
            ("http://ledger.example:8311", "names a host or no port"),
            ("localhost:8311", "names a host or no port"),
            ("http://127.0.0.1", "names a host or no port"),
            ("", "names a host or no port"),
            ("https://127.0.0.1:8311", "asks for TLS"),
            ("ftp://127.0.0.1:8311", "has an unknown scheme"),
            ("http://127.0.0.1:8311/v1", "may not carry a path"),
            ("http://me@127.0.0.1:8311", "may not carry a path"),
            ("http://127.0.0.1:0", "has port 0"),
            ("unix:run/a.sock", "needs the absolute path"),
            ("unix://run/a.sock", "needs the absolute path"),
        ] {
            let error = text.parse::<ApiAddress>().unwrap_err().to_string();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
        let long = format!("unix:/{}", "a".repeat(107));
        assert!(
            long.parse::<ApiAddress>()
                .unwrap_err()
                .to_string()
                .contains("107 bytes")
        );
    }
}
