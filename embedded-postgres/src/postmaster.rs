//! The running server process.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// Time for an immediate shutdown; PostgreSQL itself kills its children after 5 s of it.
const IMMEDIATE_BOUND: Duration = Duration::from_secs(10);

/// How a server was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// After a checkpoint, or it had ended by itself.
    Clean,
    /// Without one.
    Unclean,
}

/// Our child, watched by a thread of its own.
///
/// The thread starts the child and lives as long as it: Linux counts a child's parent as dead
/// when the thread that started it ends.
#[derive(Debug)]
pub(crate) struct Postmaster {
    pid: Pid,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Set in the same critical section that reaps the child, so a signal sent under the lock
    /// while this is `None` cannot reach a stranger with a reused number.
    exit: Mutex<Option<ExitStatus>>,
    changed: Condvar,
}

impl Postmaster {
    pub(crate) fn spawn(mut command: Command) -> io::Result<Self> {
        let state = Arc::new(State::default());
        let (started, start) = mpsc::channel();
        let watcher = Arc::clone(&state);
        thread::Builder::new()
            .name("postmaster".to_owned())
            .spawn(move || {
                match command.spawn() {
                    Ok(child) => {
                        let pid = Pid::from_child(&child);
                        // The receiver waits for exactly this message.
                        let _ = started.send(Ok(pid));
                        watcher.watch(pid, child);
                    }
                    Err(error) => {
                        let _ = started.send(Err(error));
                    }
                }
            })?;
        let pid = start.recv().map_err(io::Error::other)??;
        Ok(Self { pid, state })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Waits for the end of the process, at most for `bound`.
    pub(crate) fn wait(&self, bound: Duration) -> Option<ExitStatus> {
        let exit = self.state.lock();
        let (exit, _) = self
            .state
            .changed
            .wait_timeout_while(exit, bound, |exit| exit.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        *exit
    }

    fn signal(&self, signal: Signal) {
        let exit = self.state.lock();
        if exit.is_none() {
            // It fails only for a process that is gone, and then there is nothing to stop.
            let _ = rustix::process::kill_process(self.pid, signal);
        }
    }

    /// Fast shutdown within `bound`, then an immediate one, then the kill that cannot be refused.
    pub(crate) fn stop(&self, bound: Duration) -> Stopped {
        self.signal(Signal::INT);
        if self.wait(bound).is_some() {
            return Stopped::Clean;
        }
        self.signal(Signal::QUIT);
        if self.wait(bound.min(IMMEDIATE_BOUND)).is_none() {
            self.signal(Signal::KILL);
            self.wait(IMMEDIATE_BOUND);
        }
        Stopped::Unclean
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        // Nothing that holds this lock can leave the value half written.
        self.exit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self, pid: Pid, mut child: Child) {
        // Leaves the child waitable, so that its number stays taken until the lock is held.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options)
        {
        }
        let mut exit = self.lock();
        *exit = child.wait().ok();
        self.changed.notify_all();
    }
}
