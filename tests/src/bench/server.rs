//! The service under measurement: the release binary on the shared PostgreSQL.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use embedded_postgres::Cluster;
use ipledger_client::blocking::{ApiAddress, Budget, Client};

use super::http::Endpoint;

/// A running `ipledger-api serve`; ended on drop.
pub struct Server {
    child: Child,
    directory: tempfile::TempDir,
    port: u16,
}

impl Server {
    /// Start on a database that was migrated.
    pub fn start(program: &Path, cluster: &Cluster, database: &str) -> Result<Server> {
        let directory = tempfile::tempdir()?;
        let port = free_port()?;
        let socket = directory.path().join("api.sock");
        let child = Command::new(program)
            .arg("serve")
            .args([
                "--database-url",
                &cluster.url_as(&format!("{database}_app"), database),
            ])
            .args([
                "--listen",
                &format!("127.0.0.1:{port},unix:{}", socket.display()),
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        let mut server = Server {
            child,
            directory,
            port,
        };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<()> {
        let address: ApiAddress = self.unix().parse()?;
        let client = Client::new(&[address], None, "ipledger-bench")?;
        let deadline = Instant::now() + Duration::from_secs(120);
        while client
            .ready(Budget::within(Duration::from_secs(1)).one_round())
            .is_err()
        {
            ensure!(
                self.child.try_wait()?.is_none(),
                "the service ended at start"
            );
            ensure!(Instant::now() < deadline, "the service is not ready");
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Its TCP address.
    #[must_use]
    pub fn tcp(&self) -> std::net::SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> Endpoint {
        Endpoint::Unix(self.directory.path().join("api.sock"))
    }

    /// Its unix socket, as `IPLEDGER_API_URL` wants it.
    #[must_use]
    pub fn unix(&self) -> String {
        format!("unix:{}", self.directory.path().join("api.sock").display())
    }

    /// Resident memory, in MiB.
    pub fn resident_mib(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let kib: f64 = status
            .lines()
            .find_map(|line| {
                line.strip_prefix("VmRSS:")?
                    .split_whitespace()
                    .next()?
                    .parse()
                    .ok()
            })
            .context("VmRSS")?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is fine; it is only a measurement.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> Result<u16> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?
        .local_addr()?
        .port())
}
