//! Runs a command with a PostgreSQL server beside it.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

use anyhow::Context;
use clap::Parser;
use embedded_postgres::testing::{SERVER_VARIABLE, TestServer};
use embedded_postgres::{Binaries, Cluster, Settings};
use rustix::process::{Pid, Signal};
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

/// Starts one PostgreSQL server for tests, runs COMMAND with IPLEDGER_TEST_POSTGRES set to its
/// URL, stops the server, removes its directory, and exits as COMMAND did.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The directory of `postgres` and `initdb` [default: found as `ipledger-api dev` does]
    #[arg(long, value_name = "DIR")]
    postgres_bin: Option<PathBuf>,

    /// Keep a durable cluster in this directory instead of a temporary one
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,

    /// The command and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Stopped, and removed unless it is to be kept, when it is dropped.
enum Server {
    Temporary(TestServer),
    Kept(Cluster),
}

impl Server {
    fn start(postgres_bin: Option<&Path>, data_dir: Option<PathBuf>) -> anyhow::Result<Self> {
        let binaries = Binaries::find(postgres_bin)?;
        Ok(match data_dir {
            None => Self::Temporary(TestServer::start(&binaries)?),
            Some(dir) => Self::Kept(Cluster::start_blocking(&binaries, &Settings::durable(dir))?),
        })
    }

    fn cluster(&self) -> &Cluster {
        match self {
            Self::Temporary(server) => server.cluster(),
            Self::Kept(cluster) => cluster,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("{error:#}"));
            let command_missing = error
                .downcast_ref::<std::io::Error>()
                .is_some_and(|cause| cause.kind() == std::io::ErrorKind::NotFound);
            ExitCode::from(if command_missing { 127 } else { 1 })
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments {
        postgres_bin,
        data_dir,
        command,
    } = arguments;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let starting = runtime.spawn_blocking(move || Server::start(postgres_bin.as_deref(), data_dir));
    let (server, status) = runtime.block_on(supervise(starting, command))?;
    if let Server::Kept(cluster) = server {
        cluster.stop_blocking()?;
    }
    Ok(exit_code(status))
}

/// Waits for the server, then for the command, and passes on the signals that ask for an end.
async fn supervise(
    starting: tokio::task::JoinHandle<anyhow::Result<Server>>,
    command: Vec<OsString>,
) -> anyhow::Result<(Server, ExitStatus)> {
    // Caught from before the server exists, so that it is never left behind.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let server = starting.await??;
    let url = server.cluster().url("postgres");
    say(&format!("{SERVER_VARIABLE}={url} {}", command[0].display()));
    let mut child = Command::new(&command[0])
        .args(&command[1..])
        .env(SERVER_VARIABLE, &url)
        .spawn()
        .with_context(|| format!("run {}", command[0].display()))?;
    loop {
        tokio::select! {
            status = child.wait() => return Ok((server, status?)),
            _ = interrupt.recv() => pass_on(&child, Signal::INT),
            _ = terminate.recv() => pass_on(&child, Signal::TERM),
        }
    }
}

fn pass_on(child: &Child, signal: Signal) {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    if let Some(pid) = pid {
        // The command may have ended between the signal and now; then its status comes next.
        let _ = rustix::process::kill_process(pid, signal);
    }
}

/// As a shell reports it: 128 and the signal's number for a command that was killed.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// One line to stderr; stdout belongs to the command.
fn say(line: &str) {
    // Without a stderr there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "with-postgres: {line}");
}
