//! Writes the definitions of the custom resources into the directory that is named: `make crds`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

fn main() -> Result<()> {
    let dir = std::env::args_os()
        .nth(1)
        .context("usage: write-crds DIRECTORY")?;
    let dir = PathBuf::from(dir);
    for manifest in ipledger_sync::crd::manifests()? {
        let path = dir.join(&manifest.file_name);
        fs::write(&path, manifest.yaml).with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}
