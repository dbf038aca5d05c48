use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ipledger_client::types::OrderToken;
use jiff::Timestamp;

/// No file that the plugin reads for itself comes near this.
const MAX_FILE: u64 = 1024 * 1024;

/// The node that the plugin runs on: its files, its boot and its time. A root other than `/` and
/// a clock that stands still make it a test's.
#[derive(Debug)]
pub struct Host {
    /// Where absolute paths begin.
    pub root: PathBuf,
    /// The wall clock.
    pub clock: fn() -> Timestamp,
}

impl Host {
    /// This machine.
    #[must_use]
    pub fn this() -> Self {
        Self {
            root: PathBuf::from("/"),
            clock: wall_clock,
        }
    }

    /// A path of the host, as a path of this process.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads a file of at most 1 MiB.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.path(path))?
            .take(MAX_FILE + 1)
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "is larger than 1 MiB",
            ));
        }
        Ok(bytes)
    }

    /// The time as the API writes it: RFC 3339 in UTC with microseconds.
    pub(crate) fn now_text(&self) -> String {
        format!("{:.6}", (self.clock)())
    }

    /// Where this call stands among the calls of this node. `None` if the kernel hides its boot
    /// id; the ledger then takes calls in the order of their arrival.
    pub(crate) fn order_token(&self) -> Option<OrderToken> {
        let boot_id = self
            .read(Path::new("/proc/sys/kernel/random/boot_id"))
            .ok()?;
        let boot_id = String::from_utf8(boot_id).ok()?.trim().to_owned();
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).ok()?;
        let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
        let boottime_ns = seconds
            .checked_mul(1_000_000_000)?
            .checked_add(nanoseconds)?;
        (!boot_id.is_empty()).then_some(OrderToken {
            boot_id,
            boottime_ns,
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is where the plugin's clock comes from"
)]
fn wall_clock() -> Timestamp {
    Timestamp::now()
}
