//! The yardstick: single-row inserts by pgbench, on the same server in the same minute.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use embedded_postgres::Binaries;

use super::Figures;

/// The statement.
const INSERT: &str = "insert into yardstick (note) values ('x');\n";

/// Make the table of the yardstick.
pub async fn prepare(url: &str) -> Result<()> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    let driver = tokio::spawn(connection);
    client
        .batch_execute(
            "create table yardstick (id bigint generated always as identity primary key, note text)",
        )
        .await?;
    drop(client);
    driver.await??;
    Ok(())
}

/// Run it for some seconds with so many clients; every latency is logged, so that percentiles are
/// exact.
pub fn run(
    binaries: &Binaries,
    socket: &Path,
    database: &str,
    clients: u32,
    seconds: u32,
) -> Result<Figures> {
    let directory = tempfile::tempdir()?;
    let script = directory.path().join("insert.sql");
    std::fs::File::create(&script)?.write_all(INSERT.as_bytes())?;
    let prefix = directory.path().join("latency");
    let output = Command::new(binaries.program("pgbench"))
        .args([
            "--no-vacuum",
            "--protocol=prepared",
            "--username=postgres",
            "--log",
        ])
        .arg(format!("--log-prefix={}", prefix.display()))
        .arg(format!("--file={}", script.display()))
        .arg(format!("--host={}", socket.display()))
        .args([
            format!("--client={clients}"),
            format!("--jobs={}", clients.min(2)),
        ])
        .arg(format!("--time={seconds}"))
        .arg(database)
        .output()
        .context("pgbench could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "pgbench failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok())
        .with_context(|| format!("no rate in pgbench's output:\n{text}"))?;
    let mut histogram = hdrhistogram::Histogram::new(3)?;
    for entry in std::fs::read_dir(directory.path())? {
        let path = entry?.path();
        if path != script {
            // client, transaction, latency in microseconds, ...
            for line in std::fs::read_to_string(path)?.lines() {
                let latency = line.split(' ').nth(2).and_then(|field| field.parse().ok());
                histogram.record(latency.context("pgbench's log")?)?;
            }
        }
    }
    Ok(Figures {
        rate,
        ..Figures::of(&histogram, 1.0)
    })
}

/// Time of one fdatasync of 8 kB, in microseconds, by PostgreSQL's own tool.
pub fn fdatasync_us(binaries: &Binaries, directory: &Path) -> Result<f64> {
    let output = Command::new(binaries.program("pg_test_fsync"))
        .args(["--secs-per-test=1", "--filename"])
        .arg(directory.join("fsync-probe"))
        .output()
        .context("pg_test_fsync could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| {
            let line = line.trim().strip_prefix("fdatasync")?;
            line.split_whitespace().nth(2)?.parse().ok()
        })
        .with_context(|| format!("no fdatasync in pg_test_fsync's output:\n{text}"))
}
