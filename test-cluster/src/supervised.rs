//! A program that ends with us, even after kill -9.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::Error;

/// Starts the program, tells its pid, and reads until the other end of the pipe is closed, which
/// the system does when the process that holds it ends. Then it ends the program, its own child,
/// and removes the directory `$1` if one is given. Should the shell itself be killed, the system
/// ends the program, where util-linux' `setpriv` is there to ask for it.
const SCRIPT: &str = r#"
trap '' HUP INT TERM
dir=$1
shift
setpriv --pdeathsig KILL -- true 2> /dev/null && set -- setpriv --pdeathsig KILL -- "$@"
(trap - HUP INT TERM; exec "$@") < /dev/null >&2 &
echo $!
exec > /dev/null 2>&1
read -r end
kill -KILL $!
wait
tries=0
while [ -n "$dir" ] && ! rm -rf -- "$dir" && [ "$tries" -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
"#;

/// How much of a log is shown.
const TAIL_BYTES: usize = 4096;

/// A running program. Nothing that it has is worth a clean stop: it is killed.
#[derive(Debug)]
pub(crate) struct Supervised {
    name: &'static str,
    shell: Child,
    pipe: Option<ChildStdin>,
    pid: u32,
    log: PathBuf,
}

impl Supervised {
    /// Starts a program that writes to `log`. With it goes `directory`, if one is given.
    pub(crate) fn start(
        name: &'static str,
        program: &Path,
        arguments: &[String],
        log: &Path,
        directory: Option<&Path>,
    ) -> Result<Self, Error> {
        let file = File::create(log).map_err(Error::io("write", log))?;
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "sh"])
            .arg(directory.unwrap_or_else(|| Path::new("")))
            .arg(program)
            .args(arguments)
            .current_dir("/")
            // What is sent to the test's process group is not for the one who cleans up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(Error::io("run", Path::new("/bin/sh")))?;
        let pipe = shell.stdin.take();
        let pid = read_pid(&mut shell).map_err(Error::io("start", program))?;
        Ok(Self {
            name,
            shell,
            pipe,
            pid,
            log: log.to_owned(),
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it has not ended by itself. While the shell reads it reaps nobody, so the number of
    /// a program that ended stays taken and cannot be a stranger's.
    pub(crate) fn runs(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The name of the program stands in brackets before the state and may hold anything.
        let state = stat.rsplit_once(") ").map_or("Z", |(_, rest)| rest);
        !state.starts_with('Z')
    }

    /// The end of what it wrote.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let tail = &log[log.len().saturating_sub(TAIL_BYTES)..];
        String::from_utf8_lossy(tail).into_owned()
    }

    /// That it did not get ready, in its own words.
    pub(crate) fn not_ready(&self, reason: impl Into<String>) -> Error {
        Error::NotReady {
            program: self.name,
            reason: reason.into(),
            log: self.log_tail(),
        }
    }
}

fn read_pid(shell: &mut Child) -> std::io::Result<u32> {
    let stdout = shell.stdout.take().expect("stdout was asked for as a pipe");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    line.trim().parse().map_err(std::io::Error::other)
}

impl Drop for Supervised {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // A shell that cannot be waited for has ended.
        let _ = self.shell.wait();
    }
}
