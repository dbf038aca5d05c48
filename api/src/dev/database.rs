//! The database itself, made by PostgreSQL's own program for it.

use anyhow::{Context as _, bail};
use embedded_postgres::Binaries;
use tokio::process::Command;

/// Makes the database unless it is there. `maintenance_url` is one of another database.
pub(super) async fn ensure(
    binaries: &Binaries,
    maintenance_url: &str,
    name: &str,
) -> anyhow::Result<()> {
    let program = binaries.program("createdb");
    let output = Command::new(&program)
        .arg(format!("--maintenance-db={maintenance_url}"))
        .arg(name)
        // The text below is matched; the server's own is English because its locale is C.
        .env("LC_ALL", "C")
        .env_remove("LANGUAGE")
        .kill_on_drop(true)
        .output()
        .await
        .with_context(|| format!("{} cannot be run", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() || said.contains(&format!("\"{name}\" already exists")) {
        return Ok(());
    }
    bail!("the database {name} cannot be made: {}", said.trim());
}
