//! Everything on one machine: PostgreSQL in a directory of its own, the schema, and the service.

mod database;
mod words;

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use embedded_postgres::{Binaries, Cluster, Settings};
use ledger::StoreConfig;
use tokio_util::sync::CancellationToken;

use crate::config::ServeConfig;
use crate::listen::ListenAddress;
use crate::program::Bound;

pub(crate) use words::migrated_in_words;

/// Name of the database.
const DATABASE: &str = "ipledger";

/// What a person may choose.
pub(crate) struct Options {
    /// Where PostgreSQL keeps its data.
    pub(crate) data_dir: PathBuf,
    /// Directory of the server binaries; searched for if absent.
    pub(crate) postgres_bin: Option<PathBuf>,
    /// Port of PostgreSQL on 127.0.0.1; unix socket only if absent.
    pub(crate) postgres_port: Option<u16>,
    /// Where the service listens.
    pub(crate) listen: Vec<ListenAddress>,
    /// Limits and times of the service.
    pub(crate) serve: ServeConfig,
    /// How the ledger uses its database; the URL is filled in here.
    pub(crate) store: StoreConfig,
}

/// Where the data is kept if nobody says where.
pub(crate) fn usual_data_dir() -> anyhow::Result<PathBuf> {
    let given = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let is_root = rustix::process::geteuid().is_root();
    data_dir_of(is_root, given("XDG_DATA_HOME"), given("HOME"))
        .context("neither XDG_DATA_HOME nor HOME is set; say --data-dir")
}

/// Below `XDG_DATA_HOME` or `HOME`; as root below `/var/lib`, because PostgreSQL then runs as a
/// user that may not enter root's home.
fn data_dir_of(is_root: bool, data: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    if is_root {
        return Some(PathBuf::from("/var/lib/ipledger/dev"));
    }
    let base = data
        .map(PathBuf::from)
        .or_else(|| home.map(|home| PathBuf::from(home).join(".local/share")));
    base.map(|base| base.join("ipledger/dev"))
}

/// Runs until the shutdown, saying on `out` what it does. PostgreSQL is stopped cleanly whatever
/// happens here; what a kill -9 leaves behind, the next start puts in order.
pub(crate) async fn run(
    options: Options,
    shutdown: &CancellationToken,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let bound = Bound::bind(&options.listen).await?;
    let binaries = Binaries::find(options.postgres_bin.as_deref())?;
    writeln!(
        out,
        "PostgreSQL {} from {}",
        binaries.version(),
        binaries.dir().display()
    )?;
    let mut settings = Settings::durable(&options.data_dir);
    settings.tcp_port = options.postgres_port;
    let starting = Cluster::start(&binaries, settings);
    let Some(cluster) = shutdown.run_until_cancelled(starting).await else {
        return Ok(());
    };
    let cluster = cluster?;
    writeln!(out, "  data in {}", options.data_dir.display())?;
    writeln!(out, "  log in {}", cluster.log_path().display())?;
    let served = serve(options, &binaries, &cluster, bound, shutdown, out).await;
    // The last words are not worth an unclean stop.
    let _ = writeln!(out, "PostgreSQL stops");
    cluster.stop().await?;
    served
}

async fn serve(
    options: Options,
    binaries: &Binaries,
    cluster: &Cluster,
    bound: Bound,
    shutdown: &CancellationToken,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    database::ensure(binaries, &cluster.url("postgres"), DATABASE).await?;
    let migrated = ledger::migrate(&cluster.url(DATABASE)).await?;
    writeln!(
        out,
        "  database {DATABASE}: {}",
        migrated_in_words(&migrated)
    )?;
    // As in production: the service's own role can append and read, and nothing else.
    let store = StoreConfig {
        database_url: cluster.url_as(&format!("{DATABASE}_app"), DATABASE),
        ..options.store
    };
    let addresses = bound.addresses()?;
    let Some(service) = bound.open(&store, shutdown).await? else {
        return Ok(());
    };
    let psql = cluster.url(DATABASE);
    out.write_all(words::ready(&addresses, &psql).as_bytes())?;
    if let Some((url, password)) = cluster.tcp_url(DATABASE) {
        writeln!(
            out,
            "Or over TCP:\n  PGPASSFILE={} psql '{url}'",
            password.display()
        )?;
    }
    writeln!(out, "Stop with Ctrl-C.")?;
    out.flush()?;
    service.run(options.serve, shutdown).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_kept_where_its_user_keeps_data() {
        let dir = |is_root, data: &str, home: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
            let dir = data_dir_of(is_root, given(data), given(home))?;
            Some(dir.display().to_string())
        };
        assert_eq!(
            dir(false, "/data", "/home/j").as_deref(),
            Some("/data/ipledger/dev")
        );
        assert_eq!(
            dir(false, "", "/home/j").as_deref(),
            Some("/home/j/.local/share/ipledger/dev")
        );
        assert_eq!(
            dir(true, "/data", "/root").as_deref(),
            Some("/var/lib/ipledger/dev")
        );
        assert_eq!(dir(false, "", ""), None);
    }
}
