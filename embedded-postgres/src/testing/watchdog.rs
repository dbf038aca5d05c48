//! Cleans up behind a test process, however it ends.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::Error;

/// Reads until the other end of the pipe is closed, which the system does when the process that
/// holds it ends; then ends the server, if it still runs, and removes its directories.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
socket_dir=$(cat)
file="$1/cluster/postmaster.pid"
pid=$(head -n 1 "$file" 2> /dev/null)
if [ -n "$pid" ] && kill -INT "$pid" 2> /dev/null; then
    tries=0
    while [ -e "$file" ] && kill -0 "$pid" 2> /dev/null && [ "$tries" -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
fi
rm -rf -- "$1" ${socket_dir:+"$socket_dir"}
"#;

/// A shell that waits for our end. Dropping this counts as our end and waits for the clean-up.
#[derive(Debug)]
pub(super) struct Watchdog {
    shell: Child,
    pipe: Option<ChildStdin>,
}

impl Watchdog {
    /// Watches from before the first process is started in `data_dir`.
    pub(super) fn start(data_dir: &Path) -> Result<Self, Error> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(data_dir)
            .current_dir("/")
            // What is sent to the test's process group is not for the one who cleans up.
            .process_group(0)
            .stdin(Stdio::piped())
            // A pipe behind the test would otherwise stay open for a moment longer.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Error::io("run", Path::new("/bin/sh")))?;
        let pipe = shell.stdin.take();
        Ok(Self { shell, pipe })
    }

    /// Removes the directory of the socket as well, which may lie outside the data directory.
    pub(super) fn remove_too(&mut self, socket_dir: &Path) -> Result<(), Error> {
        let Some(pipe) = &mut self.pipe else {
            return Ok(());
        };
        pipe.write_all(socket_dir.as_os_str().as_bytes())
            .map_err(Error::io("tell", socket_dir))
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // A shell that cannot be waited for has ended.
        let _ = self.shell.wait();
    }
}
