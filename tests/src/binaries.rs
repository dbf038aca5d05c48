//! Where the binaries under test are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

/// The directory with `ipledger` and `ipledger-api` of the profile that this code was built
/// with. Built now if one is missing or older than its sources, so that one test by name works
/// on a clean clone.
pub fn directory() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))) {
        Ok(directory) => Ok(directory),
        Err(text) => anyhow::bail!("{text}"),
    }
}

fn build() -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this program is")?;
    // target/<profile>/deps/it-…, target/<profile>/demo
    let directory = own
        .ancestors()
        .skip(1)
        .find(|directory| !directory.ends_with("deps"))
        .context("the target directory")?
        .to_owned();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args([
        "build",
        "--quiet",
        "-p",
        "ipledger",
        "-p",
        "ipledger-api",
        "-p",
        "ipledger-sync",
    ]);
    if directory.ends_with("release") {
        cargo.arg("--release");
    }
    // Build scripts watch what cargo tells the package under test about itself; left in, they would
    // run again, and everything above them be built again, each time a test asks.
    for (key, _) in std::env::vars_os() {
        let name = key.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&key);
        }
    }
    let status = cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .context("cargo build of the binaries under test")?;
    ensure!(
        status.success(),
        "cargo build of the binaries under test failed: {status}"
    );
    Ok(directory)
}
