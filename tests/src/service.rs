//! A running `ipledger-api dev`: the service and a PostgreSQL of its own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ipledger_client::blocking::{ApiAddress, Budget, Client};
use rustix::process::{Pid, Signal};
use serde_json::Value;

/// How long a start may take, with `initdb`, migrations and a slow disk.
const START: Duration = Duration::from_secs(90);

/// A service in a temporary directory; stopped on drop.
#[derive(Debug)]
pub struct Service {
    child: Option<Child>,
    directory: tempfile::TempDir,
    program: PathBuf,
    environment: Vec<(String, String)>,
    client: Client,
}

impl Service {
    /// Start a service that listens on a unix socket, and wait until it is ready.
    pub fn start(program: &Path) -> Result<Service> {
        Service::start_with(program, &[])
    }

    /// The same with further variables in its environment.
    pub fn start_with(program: &Path, environment: &[(&str, &str)]) -> Result<Service> {
        let directory = tempfile::Builder::new().prefix("ipledger-").tempdir()?;
        let address = format!("unix:{}", directory.path().join("api.sock").display());
        let parsed: ApiAddress = address.parse().context("the socket's address")?;
        let client = Client::new(&[parsed], None, "ipledger-e2e")?;
        let mut service = Service {
            child: None,
            directory,
            program: program.to_owned(),
            environment: environment
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            client,
        };
        service.resume()?;
        Ok(service)
    }

    /// Start again on the same data.
    pub fn resume(&mut self) -> Result<()> {
        let log = std::fs::File::create(self.directory.path().join("service.log"))?;
        let child = Command::new(&self.program)
            .arg("dev")
            .arg("--data-dir")
            .arg(self.data_dir())
            .args(["--listen", &self.address()])
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} could not be started", self.program.display()))?;
        self.child = Some(child);
        let deadline = Instant::now() + START;
        while self
            .client
            .ready(Budget::within(Duration::from_secs(2)).one_round())
            .is_err()
        {
            let child = self
                .child
                .as_mut()
                .context("the service was just started")?;
            if let Some(status) = child.try_wait()? {
                bail!("ipledger-api dev ended with {status}:\n{}", self.log());
            }
            ensure!(
                Instant::now() < deadline,
                "not ready after {START:?}:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stop it as an operator does, with SIGTERM.
    pub fn stop(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        if let Err(error) = terminate(&child) {
            self.child = Some(child);
            return Err(error);
        }
        let deadline = Instant::now() + START;
        while child.try_wait()?.is_none() {
            ensure!(
                Instant::now() < deadline,
                "still running after {START:?}:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Kill it without a warning.
    pub fn kill(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Its address, as `IPLEDGER_API_URL` wants it.
    #[must_use]
    pub fn address(&self) -> String {
        format!("unix:{}", self.directory.path().join("api.sock").display())
    }

    /// The data directory of its PostgreSQL.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A client of it.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// GET a resource.
    pub fn get(&self, target: &str) -> Result<Value> {
        Ok(self
            .client
            .get(target, Budget::within(Duration::from_secs(10)))?)
    }

    /// What it printed.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("service.log")).unwrap_or_default()
    }

    /// The URL of its database as the superuser, from what it printed.
    pub fn database_url(&self) -> Result<String> {
        let log = self.log();
        let line = log
            .lines()
            .find_map(|line| line.trim().strip_prefix("psql '"));
        let url = line
            .and_then(|line| line.strip_suffix('\''))
            .context("no psql line in the log")?;
        Ok(url.to_owned())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Err(error) = self.stop().or_else(|_| self.kill()) {
            tracing::warn!(error = %error, "service left behind");
        }
    }
}

/// Without a program for it: there may be no PATH to find one.
fn terminate(child: &Child) -> Result<()> {
    let pid = Pid::from_child(child);
    rustix::process::kill_process(pid, Signal::TERM)
        .with_context(|| format!("SIGTERM to process {}", child.id()))
}
