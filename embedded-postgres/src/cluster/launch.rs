//! From the binaries to a server that accepts connections.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::home::Home;
use crate::initdb::clean_environment;
use crate::postmaster::Postmaster;
use crate::socket::SocketDir;
use crate::{Binaries, Error, Settings, admin, parent_death, url};

/// Time to get ready.
const READY_BOUND: Duration = Duration::from_secs(60);
/// Time to get ready while the server itself answers that it is still recovering from a crash:
/// giving up earlier would only start the recovery anew.
const RECOVERY_BOUND: Duration = Duration::from_secs(600);
/// Time to stop a server that did not get ready.
const FAILED_STOP_BOUND: Duration = Duration::from_secs(10);
/// Time for one attempt to connect.
const ATTEMPT_BOUND: Duration = Duration::from_secs(5);
/// Pause between two attempts to connect.
const ATTEMPT_INTERVAL: Duration = Duration::from_millis(20);
/// Pause between two starts, while something that passes stands in the way.
const RESTART_INTERVAL: Duration = Duration::from_millis(200);
/// Lines of the server log that an error carries.
const LOG_LINES: usize = 15;

/// What one launch is made of.
pub(super) struct Launch<'a> {
    pub(super) binaries: &'a Binaries,
    pub(super) settings: &'a Settings,
    pub(super) account: &'a Account,
    pub(super) home: &'a Home,
}

impl Launch<'_> {
    /// Starts the server and waits until it answers a query.
    pub(super) fn run(&self, socket: &SocketDir, port: u16) -> Result<Postmaster, Error> {
        let settings = self.server_settings(socket.path(), port);
        let url = url::over_socket(socket.path(), port, &self.settings.user, "postgres");
        let log = self.home.open_log()?;
        let start = Instant::now();
        loop {
            let postmaster = self.spawn(&settings, &log)?;
            let Err(reason) = wait_ready(&postmaster, &url, start) else {
                return Ok(postmaster);
            };
            postmaster.stop(FAILED_STOP_BOUND);
            let error = self.not_ready(reason);
            if !is_passing(&error) || start.elapsed() >= READY_BOUND {
                return Err(error);
            }
            thread::sleep(RESTART_INTERVAL);
        }
    }

    fn spawn(&self, settings: &[(String, String)], log: &File) -> Result<Postmaster, Error> {
        let program = self.binaries.program("postgres");
        // Fast shutdown if we die: the cluster is left clean.
        let mut command = parent_death::command(&program, "INT");
        command.arg("-D").arg(self.home.cluster_dir());
        for (key, value) in settings {
            command.arg("-c").arg(format!("{key}={value}"));
        }
        let log = || {
            log.try_clone()
                .map_err(Error::io("share", &self.home.log_path()))
        };
        command.stdin(Stdio::null()).stdout(log()?).stderr(log()?);
        command.current_dir(self.home.cluster_dir());
        // Ctrl-C on the terminal is for us: we stop the server after our own work is done.
        command.process_group(0);
        self.account.run(clean_environment(&mut command));
        Postmaster::spawn(command).map_err(Error::io("run", &program))
    }

    fn server_settings(&self, socket_dir: &Path, port: u16) -> Vec<(String, String)> {
        let mut settings = self.settings.durability();
        if self.settings.durable {
            settings.push((
                "wal_compression".to_owned(),
                self.wal_compression().to_owned(),
            ));
        }
        for (key, value) in [
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
            ("password_encryption", "scram-sha-256"),
            ("logging_collector", "off"),
            ("log_destination", "stderr"),
        ] {
            settings.push((key.to_owned(), value.to_owned()));
        }
        settings.extend(self.settings.extra.iter().cloned());
        // The last one wins: who may reach the server is not up to `extra`.
        let listen = if self.settings.tcp_port.is_some() {
            "127.0.0.1"
        } else {
            ""
        };
        let socket_dir = socket_dir.to_string_lossy().into_owned();
        settings.push(("listen_addresses".to_owned(), listen.to_owned()));
        settings.push(("port".to_owned(), port.to_string()));
        settings.push(("unix_socket_directories".to_owned(), socket_dir));
        settings
    }

    /// `lz4` where the server was built with it (it asks least of the processor); what every
    /// version understands otherwise.
    fn wal_compression(&self) -> &'static str {
        let mut command = Command::new(self.binaries.program("postgres"));
        command.args(["-C", "wal_compression", "-c", "wal_compression=lz4", "-D"]);
        command
            .arg(self.home.cluster_dir())
            .current_dir(self.home.cluster_dir());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = self.account.run(clean_environment(&mut command)).status();
        if status.is_ok_and(|status| status.success()) {
            "lz4"
        } else {
            "on"
        }
    }

    fn not_ready(&self, reason: String) -> Error {
        let log_path = self.home.log_path();
        let text = fs::read(&log_path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let log = lines[lines.len().saturating_sub(LOG_LINES)..].join("\n");
        Error::NotReady {
            reason,
            log_path,
            log,
        }
    }
}

/// Returns when the server answers a query; else why it does not.
fn wait_ready(server: &Postmaster, url: &str, start: Instant) -> Result<(), String> {
    loop {
        let attempt = admin::execute(url, "connect", ATTEMPT_BOUND, &["SELECT 1".to_owned()]);
        let Err(refusal) = attempt else { return Ok(()) };
        if let Some(status) = server.wait(ATTEMPT_INTERVAL) {
            return Err(format!("it ended with {status}"));
        }
        let bound = if is_recovering(&refusal) {
            RECOVERY_BOUND
        } else {
            READY_BOUND
        };
        if start.elapsed() >= bound {
            return Err(format!(
                "no answer within {} s ({refusal})",
                bound.as_secs()
            ));
        }
    }
}

/// `cannot_connect_now`: the server is alive and says that it is starting up.
fn is_recovering(refusal: &Error) -> bool {
    matches!(refusal, Error::Database { sqlstate: Some(code), .. } if code == "57P03")
}

/// Children of a server that was killed keep its shared memory for a moment.
fn is_passing(error: &Error) -> bool {
    let Error::NotReady { log, .. } = error else {
        return false;
    };
    let last = log.lines().rev().find(|line| line.contains("FATAL"));
    last.is_some_and(|line| line.contains("pre-existing shared memory block"))
}
