//! etcd and an API server, and how to reach them.

mod api_server;
mod controller_manager;
mod crds;
mod etcd;
mod service_account;

use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::sync::OnceCell;

use crate::binaries::kubectl;
use crate::credentials::Credentials;
use crate::supervised::Supervised;
use crate::{Access, Binaries, Error, ports};

/// How often a start is made again because somebody took a port in between.
const PORT_RACES: usize = 3;

/// A cluster without nodes. Its processes and its directory are gone when it is dropped and when
/// this process ends, even by kill -9.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order. The last one takes the directory with it.
    controller_manager: Option<Supervised>,
    api_server: Supervised,
    etcd: Supervised,
    binaries: Binaries,
    credentials: Credentials,
    dir: PathBuf,
    anonymous: Access,
}

impl Cluster {
    /// Starts one and waits until it is ready: seconds, and minutes before that if the programs
    /// have to be built.
    ///
    /// # Errors
    /// As [`Binaries::find`]; [`Error::NotReady`] with the end of the log.
    pub async fn start() -> Result<Self, Error> {
        let binaries = tokio::task::spawn_blocking(Binaries::find)
            .await
            .expect("looking for programs does not panic")?;
        let mut attempt = 1;
        loop {
            match Self::start_once(&binaries).await {
                Err(error) if attempt < PORT_RACES && lost_a_port(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    async fn start_once(binaries: &Binaries) -> Result<Self, Error> {
        let temporary = tempfile::Builder::new()
            .prefix("ipledger-test-cluster-")
            .tempdir()
            .map_err(Error::io("make a directory in", &std::env::temp_dir()))?;
        let credentials = Credentials::make(temporary.path())?;
        let [etcd_port, port] = ports::free()?;
        let etcd = etcd::start(&binaries.etcd, temporary.path(), etcd_port)?;
        // From here on etcd's supervisor removes it.
        let dir = temporary.keep();
        let server = api_server::Start {
            program: &binaries.kube_apiserver,
            dir: &dir,
            credentials: &credentials,
            etcd_port,
            port,
        };
        let api_server = server.start()?;
        let anonymous = server.wait(&api_server, &etcd).await?;
        let cluster = Self {
            controller_manager: None,
            api_server,
            etcd,
            binaries: binaries.clone(),
            credentials,
            dir,
            anonymous,
        };
        cluster
            .access()
            .write_kubeconfig(&cluster.kubeconfig_path())?;
        Ok(cluster)
    }

    /// Starts the controller manager beside it: namespaces then go when they are deleted, pods of
    /// deleted nodes are collected, and ServiceAccounts named `default` appear.
    ///
    /// # Errors
    /// [`Error::NotReady`] with the end of its log.
    pub async fn start_controller_manager(&mut self) -> Result<(), Error> {
        let start = controller_manager::start(
            &self.binaries.kube_controller_manager,
            &self.dir,
            &self.kubeconfig_path(),
            &self.credentials.signing_key,
        )?;
        controller_manager::wait(&start, &self.client().await?).await?;
        self.controller_manager = Some(start);
        Ok(())
    }

    /// The URL of the API server.
    #[must_use]
    pub fn url(&self) -> &str {
        self.anonymous.url()
    }

    /// As an administrator: a member of `system:masters`.
    #[must_use]
    pub fn access(&self) -> Access {
        self.anonymous
            .as_user("admin", "default", &self.credentials.admin_token)
    }

    /// A new client of the administrator. It belongs to the runtime that it is made on.
    ///
    /// # Errors
    /// As [`Access::client`].
    pub async fn client(&self) -> Result<kube::Client, Error> {
        self.access().client().await
    }

    /// The administrator's kubeconfig.
    #[must_use]
    pub fn kubeconfig_path(&self) -> PathBuf {
        self.dir.join("admin.kubeconfig")
    }

    /// `kubectl` as the administrator.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`].
    pub fn kubectl(&self) -> Result<Command, Error> {
        let mut command = Command::new(kubectl()?);
        command.env("KUBECONFIG", self.kubeconfig_path());
        command.env("HOME", &self.dir);
        Ok(command)
    }

    /// A directory that lives as long as the cluster, for whatever a test needs beside it.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.dir
    }

    /// The processes: etcd, the API server and, if it was started, the controller manager.
    pub fn pids(&self) -> impl Iterator<Item = u32> {
        self.processes().map(Supervised::pid)
    }

    /// The certificate and the key that the API server answers with, for who stands before it.
    pub(crate) fn serving_certificate(&self) -> (PathBuf, PathBuf) {
        api_server::certificate(&self.dir)
    }

    pub(crate) fn anonymous(&self) -> &Access {
        &self.anonymous
    }

    fn processes(&self) -> impl Iterator<Item = &Supervised> {
        [&self.etcd, &self.api_server]
            .into_iter()
            .chain(&self.controller_manager)
    }
}

impl Drop for Cluster {
    /// A test that fails shows what the servers said.
    #[expect(
        clippy::print_stderr,
        reason = "a failing test's output is where it is looked for"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            for process in self.processes() {
                eprintln!("--- {}:\n{}", process.name(), process.log_tail());
            }
        }
    }
}

fn lost_a_port(error: &Error) -> bool {
    matches!(error, Error::NotReady { log, .. } if log.contains("address already in use"))
}

/// The one cluster of this test process, started when the first test asks, ended with the process.
/// Tests keep out of each other's way by namespaces of their own.
///
/// # Panics
/// It could not be started; every test that asks is told why.
pub async fn shared() -> &'static Cluster {
    static SHARED: OnceCell<Result<Cluster, String>> = OnceCell::const_new();
    let start = async || {
        let cluster = Cluster::start().await?;
        cluster.install_crds().await?;
        Ok::<_, Error>(cluster)
    };
    let started = SHARED.get_or_init(async || start().await.map_err(|error| error.to_string()));
    match started.await {
        Ok(cluster) => cluster,
        Err(message) => panic!("the shared test cluster: {message}"),
    }
}
