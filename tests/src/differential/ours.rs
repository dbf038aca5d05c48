//! ipledger with its real API and PostgreSQL. Each case has a cluster of its own. Most calls are
//! made in process, which is the same code without fork and exec; every tenth case runs the
//! binary.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cni_plugin::{Host, dispatch};

use super::answer::Answer;
use super::case::{Call, Case};
use super::incumbent::run;
use crate::service::Service;

/// A service and the plugin.
pub struct Ours {
    service: Service,
    program: PathBuf,
}

impl Ours {
    /// Start the service of these binaries.
    pub fn start(binaries: &Path) -> Result<Self> {
        Ok(Self {
            service: Service::start(&binaries.join("ipledger-api"))?,
            program: binaries.join("ipledger"),
        })
    }

    /// The service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Runs the steps of a case.
    pub fn answers(&self, case: &Case, by_process: bool) -> Result<Vec<Answer>> {
        let directory = tempfile::tempdir()?;
        let root = directory.path();
        let flat_file = root.join("etc/cni/net.d/whereabouts.d/whereabouts.conf");
        if let Some(text) = case.flat_file(Path::new("/nowhere")) {
            std::fs::create_dir_all(flat_file.parent().context("a directory")?)?;
            std::fs::write(&flat_file, text)?;
        }
        let by_process = by_process && !case.no_flat_file;
        let boot_id = root.join("proc/sys/kernel/random/boot_id");
        std::fs::create_dir_all(boot_id.parent().context("a directory")?)?;
        std::fs::write(boot_id, "3f6c1a52-0d0e-4b9c-9a53-6a4f9a4f8f10")?;
        let answer = |step: &String| {
            let mut call = case.call(step, by_process.then_some(flat_file.as_path()))?;
            let queue = root.join("queue").display().to_string();
            for (name, value) in [
                ("IPLEDGER_API_URL", self.service.address()),
                ("IPLEDGER_CLUSTER", case.id.clone()),
                (
                    "IPLEDGER_QUEUE_DIR",
                    if by_process { queue } else { "/queue".into() },
                ),
            ] {
                call.variables.insert(name.to_owned(), value);
            }
            if by_process {
                let output = run(&self.program, &call.variables, &call.stdin)?;
                let stdout = String::from_utf8_lossy(&output.stdout);
                return Ok(Answer::of_ipledger(
                    output.status.code().unwrap_or(-1),
                    &stdout,
                ));
            }
            Ok(in_process(root, &call))
        };
        case.steps.iter().map(answer).collect()
    }
}

fn in_process(root: &Path, call: &Call) -> Answer {
    let (status, stdout) = call_inside(root, call);
    Answer::of_ipledger(status.into(), &stdout)
}

/// Makes a call in this process, on a host whose root is this directory; gives exit status and
/// standard output.
#[must_use]
pub fn call_inside(root: &Path, call: &Call) -> (u8, String) {
    let host = Host {
        root: root.to_owned(),
        ..Host::this()
    };
    let arguments = [OsString::from("ipledger")];
    let mut stdin = call.stdin.as_slice();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = dispatch(cni_plugin::Call {
        arguments: &arguments,
        variable: &|name| call.variables.get(name).map(OsString::from),
        stdin: &mut stdin,
        stdout: &mut stdout,
        stderr: &mut stderr,
        host: &host,
    });
    (status, String::from_utf8_lossy(&stdout).into_owned())
}
