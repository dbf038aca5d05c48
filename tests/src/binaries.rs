//! Where the binaries under test are.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

/// What a node and its service need.
const SERVICE: &[&str] = &["ipledger", "ipledger-api"];
/// What a whole cluster needs.
const CLUSTER: &[&str] = &["ipledger", "ipledger-api", "ipledger-sync"];

/// The directory with `ipledger` and `ipledger-api` of the profile that this code was built
/// with. A program that has them beside it uses them as they are: under sudo there may be no
/// cargo. For a test they are built now if one is missing or older than its sources, so that one
/// test by name works on a clean clone.
pub fn directory() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, SERVICE)
}

/// The same with `ipledger-sync`.
pub fn directory_with_sync() -> Result<&'static Path> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    once(&BUILT, CLUSTER)
}

fn once(
    built: &'static OnceLock<Result<PathBuf, String>>,
    programs: &[&str],
) -> Result<&'static Path> {
    match built.get_or_init(|| find(programs).map_err(|error| format!("{error:#}"))) {
        Ok(directory) => Ok(directory),
        Err(text) => anyhow::bail!("{text}"),
    }
}

fn find(programs: &[&str]) -> Result<PathBuf> {
    let own = std::env::current_exe().context("where this program is")?;
    // target/<profile>/deps/it-…, target/<profile>/demo
    let beside = own.parent().context("the target directory")?;
    if beside.ends_with("deps") {
        return build(beside.parent().context("the target directory")?, programs);
    }
    if programs.iter().all(|name| beside.join(name).is_file()) {
        return Ok(beside.to_owned());
    }
    build(beside, programs)
}

fn build(directory: &Path, programs: &[&str]) -> Result<PathBuf> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet"]);
    cargo.args(programs.iter().flat_map(|name| ["-p", name]));
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
    Ok(directory.to_owned())
}
