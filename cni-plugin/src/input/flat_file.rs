use std::io;
use std::path::{Path, PathBuf};

use ipledger_client::blocking::io_error_text;
use serde_json::{Map, Value};

use super::json::Repeated;
use super::network::parse_flat_file;
use crate::Host;
use crate::error::{CniError, Code};

/// Where flat files are looked for after `configuration_path`; the first that exists is taken
/// alone.
pub(crate) const PATHS: [&str; 4] = [
    "/etc/cni/net.d/ipledger.d/ipledger.conf",
    "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf",
    "/etc/cni/net.d/whereabouts.d/whereabouts.conf",
    "/host/etc/cni/net.d/whereabouts.d/whereabouts.conf",
];

/// An `ipam` object in a file of the node, which fills what a definition leaves open.
#[derive(Debug)]
pub(crate) struct FlatFile {
    pub(crate) path: PathBuf,
    pub(crate) keys: Map<String, Value>,
    /// Keys that stand twice.
    pub(crate) repeated: Vec<Repeated>,
}

impl FlatFile {
    /// The first one that exists, if any.
    pub(crate) fn find(
        host: &Host,
        configuration_path: Option<&str>,
    ) -> Result<Option<Self>, CniError> {
        for path in configuration_path.into_iter().chain(PATHS).map(Path::new) {
            match host.read(path) {
                Ok(bytes) => {
                    let (keys, repeated) = parse_flat_file(&bytes, path)?;
                    return Ok(Some(Self {
                        path: path.to_owned(),
                        keys,
                        repeated,
                    }));
                }
                Err(error) if is_absent(&error) => {}
                Err(error) => {
                    let message = format!(
                        "{}: cannot be read: {}",
                        path.display(),
                        io_error_text(&error)
                    );
                    return Err(CniError::new(Code::InvalidConfig, message));
                }
            }
        }
        Ok(None)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
