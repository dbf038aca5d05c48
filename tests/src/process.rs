//! A program of ours that runs beside a test: its output in a file, ended on drop.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

/// How long an orderly end may take.
const STOP: Duration = Duration::from_secs(60);

/// A running program.
#[derive(Debug)]
pub struct Process {
    child: Option<Child>,
    name: String,
    log: PathBuf,
}

impl Process {
    /// Start it and wait until it is ready; what it prints goes to `log`, after what is there.
    pub fn start(
        mut command: Command,
        log: PathBuf,
        within: Duration,
        mut is_ready: impl FnMut(&str) -> bool,
    ) -> Result<Process> {
        let name = command.get_program().to_string_lossy().into_owned();
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .with_context(|| format!("open {}", log.display()))?;
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("{name} could not be started"))?;
        let mut process = Process {
            child: Some(child),
            name,
            log,
        };
        let deadline = Instant::now() + within;
        while !is_ready(&process.output()) {
            process.ensure_running()?;
            ensure!(
                Instant::now() < deadline,
                "{} is not ready after {within:?}:\n{}",
                process.name,
                process.output()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(process)
    }

    fn ensure_running(&mut self) -> Result<()> {
        let child = self.child.as_mut().context("it was ended")?;
        if let Some(status) = child.try_wait()? {
            bail!("{} ended with {status}:\n{}", self.name, self.output());
        }
        Ok(())
    }

    /// What it printed.
    #[must_use]
    pub fn output(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Stop it as an operator does, with SIGTERM.
    pub fn stop(mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Ok(());
        };
        let status = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .context("kill")?;
        ensure!(status.success(), "kill -TERM {} failed", child.id());
        let deadline = Instant::now() + STOP;
        while child.try_wait()?.is_none() {
            if Instant::now() >= deadline {
                child.kill()?;
                child.wait()?;
                bail!("{} did not stop within {STOP:?}", self.name);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Already gone is fine.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
