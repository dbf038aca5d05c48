//! A server that ends with us, even after kill -9.
//!
//! Linux sends a signal to a process when the *thread* that started it ends. Setting it needs a
//! call between fork and exec, which safe Rust cannot make, so util-linux' `setpriv` does it.
//! Where it is absent, a server that outlives us is found and stopped by the next start.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// `program`, to be sent the signal (a name as in `kill -l`) when the calling thread ends.
pub(crate) fn command(program: &Path, signal: &str) -> Command {
    if !available() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal, "--"]).arg(program);
    command
}

/// Asked once: BusyBox has a `setpriv` without the option, other systems have none.
fn available() -> bool {
    static AVAILABLE: OnceLock<bool> = OnceLock::new();
    *AVAILABLE.get_or_init(|| {
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}
