//! The API server's store.

use std::path::Path;

use crate::Error;
use crate::supervised::Supervised;

/// Starts etcd in `dir`. The directory goes when it ends.
pub(super) fn start(program: &Path, dir: &Path, port: u16) -> Result<Supervised, Error> {
    let url = format!("http://127.0.0.1:{port}");
    let arguments = [
        format!("--data-dir={}", dir.join("etcd").display()),
        // What is in it may vanish.
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={url}"),
        format!("--advertise-client-urls={url}"),
        // It has no peers; any port will do.
        "--listen-peer-urls=http://127.0.0.1:0".to_owned(),
    ];
    Supervised::start(
        "etcd",
        program,
        &arguments,
        &dir.join("etcd.log"),
        Some(dir),
    )
}
