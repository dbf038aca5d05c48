use std::path::{Path, PathBuf};

use super::{Block, Lookup};
use crate::Host;
use crate::error::CniError;

/// As much of a file as can be a node's name.
const LONGEST: usize = 1024;

/// The name of the node: `NODENAME`, the key `node`, a `nodename` file beside a flat file,
/// `/etc/hostname`. The first that says something.
pub(crate) fn node_name(
    block: &Block,
    lookup: Lookup<'_>,
    host: &Host,
) -> Result<Option<String>, CniError> {
    if let Some(name) = lookup("NODENAME") {
        return Ok(Some(name));
    }
    if let Some(field) = block.get("node") {
        return Ok(Some(field.text()?.to_owned()));
    }
    let mut files: Vec<PathBuf> = Vec::new();
    // whereabouts' installer writes its directory into `configuration_path`.
    let configured = block
        .get("configuration_path")
        .and_then(|field| field.value.as_str());
    files.extend(configured.map(|directory| Path::new(directory).join("nodename")));
    files.extend(
        block
            .file()
            .and_then(|file| Some(file.path.parent()?.join("nodename"))),
    );
    files.push(PathBuf::from("/etc/cni/net.d/ipledger.d/nodename"));
    files.push(PathBuf::from("/etc/cni/net.d/whereabouts.d/nodename"));
    files.push(PathBuf::from("/etc/hostname"));
    Ok(files.iter().find_map(|file| first_word(host, file)))
}

fn first_word(host: &Host, file: &Path) -> Option<String> {
    let bytes = host.read(file).ok()?;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(LONGEST)])
        .trim()
        .to_owned();
    (!text.is_empty()).then_some(text)
}
