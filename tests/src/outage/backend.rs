//! PostgreSQL and the API as separate processes, on paths that stay the same.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use embedded_postgres::{Binaries, Cluster, Settings};
use ipledger_client::blocking::{ApiAddress, Budget, Client};
use serde_json::Value;

use crate::process::Process;

const DATABASE: &str = "ipledger";

/// Both.
pub struct Backend {
    binaries: Binaries,
    postgres: Option<Cluster>,
    api: Option<Process>,
    api_program: PathBuf,
    client: Client,
    directory: tempfile::TempDir,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Backend({})", self.address())
    }
}

impl Backend {
    /// Start both on a new database.
    pub async fn start(api_program: &Path) -> Result<Backend> {
        let directory = tempfile::Builder::new().prefix("ipledger-").tempdir()?;
        // PostgreSQL runs as another user and passes through.
        std::fs::set_permissions(
            directory.path(),
            std::os::unix::fs::PermissionsExt::from_mode(0o711),
        )?;
        let address: ApiAddress = socket(directory.path()).parse().context("the socket")?;
        let mut backend = Backend {
            binaries: Binaries::find(None)?,
            postgres: None,
            api: None,
            api_program: api_program.to_owned(),
            client: Client::new(&[address], None, "ipledger-e2e")?,
            directory,
        };
        backend.start_postgres().await?;
        let admin = backend.cluster()?.url("postgres");
        let (client, connection) = tokio_postgres::connect(&admin, tokio_postgres::NoTls).await?;
        let driver = tokio::spawn(connection);
        client
            .batch_execute(&format!("create database {DATABASE}"))
            .await?;
        drop(client);
        driver.await??;
        ledger::migrate(&backend.cluster()?.url(DATABASE)).await?;
        backend.start_api()?;
        Ok(backend)
    }

    fn cluster(&self) -> Result<&Cluster> {
        self.postgres.as_ref().context("PostgreSQL runs")
    }

    /// Start PostgreSQL on its data.
    pub async fn start_postgres(&mut self) -> Result<()> {
        let settings = Settings::durable(self.directory.path().join("postgres"));
        self.postgres = Some(Cluster::start(&self.binaries, settings).await?);
        Ok(())
    }

    /// Stop PostgreSQL; the API goes on, without it.
    pub async fn stop_postgres(&mut self) -> Result<()> {
        let cluster = self.postgres.take().context("PostgreSQL runs")?;
        Ok(cluster.stop().await?)
    }

    /// Start the API and wait until it is ready.
    pub fn start_api(&mut self) -> Result<()> {
        let url = self.cluster()?.url_as(&format!("{DATABASE}_app"), DATABASE);
        let mut command = Command::new(&self.api_program);
        command
            .arg("serve")
            .env_clear()
            .env("IPLEDGER_DATABASE_URL", url)
            .env("IPLEDGER_LISTEN", self.address());
        let client = &self.client;
        let log = self.directory.path().join("api.log");
        let is_ready = |_: &str| {
            let budget = Budget::within(Duration::from_secs(1)).one_round();
            client.ready(budget).is_ok()
        };
        let api = Process::start(command, log, Duration::from_secs(60), is_ready)?;
        self.api = Some(api);
        Ok(())
    }

    /// Stop the API.
    pub fn stop_api(&mut self) -> Result<()> {
        self.api.take().context("the API runs")?.stop()
    }

    /// Its address, as `IPLEDGER_API_URL` wants it.
    #[must_use]
    pub fn address(&self) -> String {
        socket(self.directory.path())
    }

    /// GET a resource.
    pub fn get(&self, target: &str) -> Result<Value> {
        let budget = Budget::within(Duration::from_secs(10));
        Ok(self.client.get(target, budget)?)
    }
}

fn socket(directory: &Path) -> String {
    format!("unix:{}", directory.join("api.sock").display())
}
