//! Releases that could not be delivered: one durable file each, in a directory of the node.
//!
//! A file is complete or not there: it is written under another name, synced, renamed, and the
//! directory is synced. Delivery may happen twice (two calls at once, or a crash between the
//! answer and the removal), which is harmless: a release frees only what its own attachment
//! holds, and its order token tells the ledger when a later ADD came in between.

mod deliver;
mod entry;

use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use ipledger_client::types::Attachment;
use jiff::{SignedDuration, Timestamp};

pub use deliver::{Delivery, Outcome, Reach, Report};
pub(crate) use deliver::{is_permanent, is_settled};
pub use entry::{BadEntry, QueuedRelease};

/// Ends every file that waits.
const SUFFIX: &str = ".json";
/// Ends a file that is being written.
const PART: &str = ".part";
/// Where files go that can never be delivered.
const SET_ASIDE: &str = "set-aside";
/// A part that nobody finished for this long was left by a crash. Its DEL had not been answered.
const ABANDONED: SignedDuration = SignedDuration::from_hours(1);

/// The release queue of a node.
#[derive(Debug, Clone)]
pub struct Queue {
    directory: PathBuf,
}

impl Queue {
    /// The queue in this directory, which need not exist yet.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Its directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Stores a release so that it survives a power cut, and says where.
    ///
    /// # Errors
    /// Any failure to write; nothing is stored then.
    pub fn put(&self, release: &QueuedRelease, at_us: i64) -> io::Result<PathBuf> {
        create_durably(&self.directory)?;
        // Sorted by time, and never the name of another file: a process id may be taken twice,
        // in two namespaces.
        let unique = RandomState::new().build_hasher().finish();
        let of = fingerprint(&release.request.attachment);
        let path = self
            .directory
            .join(format!("{at_us:020}-{of}-{unique:016x}{SUFFIX}"));
        write_durably(&path, &release.encode())?;
        Ok(path)
    }

    /// Names of the files that wait, oldest first. At most `limit` are looked at.
    ///
    /// # Errors
    /// The directory cannot be read. One that does not exist is empty.
    pub fn names(&self, limit: usize) -> io::Result<Vec<String>> {
        list(&self.directory, SUFFIX, limit)
    }

    /// Names of the files that may be releases of this attachment, oldest first: their names say
    /// so, and nothing is read.
    ///
    /// # Errors
    /// The directory cannot be read. One that does not exist is empty.
    pub fn names_of(&self, attachment: &Attachment) -> io::Result<Vec<String>> {
        let of = format!("-{}-", fingerprint(attachment));
        let mut names = self.names(usize::MAX)?;
        names.retain(|name| name.contains(&of));
        Ok(names)
    }

    /// Names of the files that were set aside.
    ///
    /// # Errors
    /// The directory cannot be read. One that does not exist is empty.
    pub fn set_aside_names(&self) -> io::Result<Vec<String>> {
        list(&self.set_aside_directory(), SUFFIX, usize::MAX)
    }

    /// Where files go that can never be delivered.
    #[must_use]
    pub fn set_aside_directory(&self) -> PathBuf {
        self.directory.join(SET_ASIDE)
    }

    /// Removes what a crash left half written.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn remove_abandoned(&self, now: Timestamp) -> io::Result<()> {
        for name in list(&self.directory, PART, usize::MAX)? {
            let path = self.directory.join(name);
            let changed = fs::metadata(&path).and_then(|metadata| metadata.modified());
            let changed = changed.ok().and_then(|time| Timestamp::try_from(time).ok());
            let age = changed.map(|changed| now.duration_since(changed));
            if age.is_some_and(|age| age > ABANDONED) {
                absent_is_fine(fs::remove_file(&path))?;
            }
        }
        Ok(())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join(name))
    }

    /// A file that is gone was delivered by another process.
    fn remove(&self, name: &str) -> io::Result<()> {
        absent_is_fine(fs::remove_file(self.directory.join(name)))
    }

    /// Moves a file out of the way, with the reason beside it.
    fn set_aside(&self, name: &str, reason: &str) -> io::Result<PathBuf> {
        let directory = self.set_aside_directory();
        create_durably(&directory)?;
        write_durably(
            &directory.join(format!("{name}.reason")),
            format!("{reason}\n").as_bytes(),
        )?;
        let path = directory.join(name);
        absent_is_fine(fs::rename(self.directory.join(name), &path))?;
        sync_directory(&directory)?;
        sync_directory(&self.directory)?;
        Ok(path)
    }
}

/// Sixteen hexadecimal digits that are the same for the same attachment (FNV-1a of its parts, each
/// followed by a zero byte).
fn fingerprint(attachment: &Attachment) -> String {
    let parts = [
        &attachment.cluster,
        &attachment.network,
        &attachment.container_id,
        &attachment.ifname,
    ];
    let bytes = parts
        .into_iter()
        .flat_map(|part| part.bytes().chain(std::iter::once(0)));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn list(directory: &Path, suffix: &str, limit: usize) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut names = Vec::new();
    for entry in entries.take(limit) {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(suffix) {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Makes a directory that only its owner reads, and syncs the one it stands in.
fn create_durably(directory: &Path) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    if directory.exists() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if let Some(parent) = directory.parent() {
        create_durably(parent)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => directory.parent().map_or(Ok(()), sync_directory),
    }
}

fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(PART);
    let part = PathBuf::from(part);
    let written = fill(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        // Whatever is left of it is not a file of the queue.
        let _ = fs::remove_file(&part);
    }
    written?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
