//! Where the service listens: loopback and unix sockets only, until callers can be told apart.

mod unix;

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::{TcpListener, UnixListener};

pub use unix::SocketFile;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenAddress {
    /// `127.0.0.1:8311`, `[::1]:8311` or `localhost:8311`; port 0 takes a free one.
    Tcp(SocketAddr),
    /// `unix:/run/ipledger.sock`.
    Unix(PathBuf),
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Not an address at all.
    #[error("listen {0:?} is not an address; write 127.0.0.1:8311, [::1]:8311 or unix:/path")]
    NotAnAddress(String),
    /// Other machines could reach it.
    #[error(
        "listen \"{0}\" can be reached from other machines, and this version cannot tell callers \
         apart; listen on 127.0.0.1, [::1] or unix:/path until authentication can be configured"
    )]
    NotLoopback(SocketAddr),
    /// A file that is no socket is in the way; it stays.
    #[error("listen \"unix:{}\" is in the way: the file is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// Another process answers there.
    #[error("listen \"{0}\" is in use by another process")]
    InUse(ListenAddress),
    /// The operating system refused.
    #[error("listen \"{address}\" failed: {source}")]
    Io {
        /// The address.
        address: ListenAddress,
        /// The system's answer.
        source: io::Error,
    },
}

impl ListenError {
    /// A fixed word for logs and tests.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotAnAddress(_) => "not_an_address",
            Self::NotLoopback(_) => "not_loopback",
            Self::NotASocket(_) => "not_a_socket",
            Self::InUse(_) => "in_use",
            Self::Io { .. } => "io",
        }
    }
}

impl FromStr for ListenAddress {
    type Err = ListenError;

    fn from_str(text: &str) -> Result<Self, ListenError> {
        let wrong = || ListenError::NotAnAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            // A relative path would depend on where the service was started.
            return match path.starts_with('/') {
                true => Ok(Self::Unix(PathBuf::from(path))),
                false => Err(wrong()),
            };
        }
        let address = match text.strip_prefix("localhost:") {
            Some(port) => SocketAddr::new(
                IpAddr::V4(Ipv4Addr::LOCALHOST),
                port.parse().map_err(|_| wrong())?,
            ),
            None => text.parse().map_err(|_| wrong())?,
        };
        if address.ip().is_loopback() {
            Ok(Self::Tcp(address))
        } else {
            Err(ListenError::NotLoopback(address))
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A bound listener.
#[derive(Debug)]
pub enum Listener {
    /// On loopback.
    Tcp(TcpListener),
    /// On a unix socket; the file goes when the listener does.
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Binds an address. A socket file that nobody answers on any more is replaced.
    ///
    /// # Errors
    /// [`ListenError`] names the address and the reason.
    pub async fn bind(address: &ListenAddress) -> Result<Self, ListenError> {
        match address {
            ListenAddress::Tcp(socket) => match TcpListener::bind(socket).await {
                Ok(listener) => Ok(Self::Tcp(listener)),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    Err(ListenError::InUse(address.clone()))
                }
                Err(source) => Err(ListenError::Io {
                    address: address.clone(),
                    source,
                }),
            },
            ListenAddress::Unix(path) => unix::bind(path),
        }
    }

    /// Where it listens; with the port that was taken, if any was right.
    ///
    /// # Errors
    /// The operating system does not know any more.
    pub fn address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Unix(_, file) => Ok(ListenAddress::Unix(file.path().to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_and_unix_sockets_are_taken() {
        for text in [
            "127.0.0.1:8311",
            "127.8.8.8:0",
            "[::1]:8311",
            "unix:/run/ipledger.sock",
        ] {
            assert_eq!(text.parse::<ListenAddress>().unwrap().to_string(), text);
        }
        let localhost: ListenAddress = "localhost:8311".parse().unwrap();
        assert_eq!(localhost.to_string(), "127.0.0.1:8311");
    }

    #[test]
    fn what_other_machines_can_reach_is_refused_with_the_remedy() {
        for text in [
            "0.0.0.0:8311",
            "[::]:8311",
            "10.0.0.1:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert_eq!(error.kind(), "not_loopback", "{text}");
            let line = error.to_string();
            assert!(
                line.contains(text) && line.contains("authentication"),
                "{line}"
            );
            assert!(!line.contains('\n'));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "8311",
            "127.0.0.1",
            "example.com:80",
            "unix:run.sock",
            "unix:",
            "::1:80",
        ] {
            let error = text.parse::<ListenAddress>().unwrap_err();
            assert_eq!(error.kind(), "not_an_address", "{text:?}");
        }
    }
}
