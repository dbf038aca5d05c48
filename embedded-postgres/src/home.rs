//! The data directory: what lies in it, and the lock that gives it to one process.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::{Error, account::Account};

/// Also the mark by which a directory is recognised as ours: it is the first file made.
const LOCK: &str = "owner.lock";

/// The name of PostgreSQL's own directory in ours.
pub(crate) const CLUSTER: &str = "cluster";

/// A data directory that this process has locked.
#[derive(Debug)]
pub(crate) struct Home {
    dir: PathBuf,
    lock: File,
}

impl Home {
    /// Makes the directory if it is absent, refuses one that is not ours, locks it, and lets the
    /// server's account through to what it will own inside.
    pub(crate) fn claim(data_dir: &Path, account: &Account) -> Result<Self, Error> {
        let dir = std::path::absolute(data_dir).map_err(Error::io("resolve", data_dir))?;
        // Before anything is made: directories nobody can use would otherwise stay behind.
        if let Some(existing) = dir.ancestors().skip(1).find(|ancestor| ancestor.exists()) {
            account.check_reaches(existing)?;
        }
        // Root owns the directory and the server's account only passes through it.
        let mode = if *account == Account::Own {
            0o700
        } else {
            0o711
        };
        DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(&dir)
            .map_err(Error::io("make directory", &dir))?;
        // The server reports its directory with links resolved; so must we, to recognise it.
        let dir = fs::canonicalize(&dir).map_err(Error::io("resolve", &dir))?;
        refuse_foreign(&dir)?;
        let lock = lock(&dir)?;
        let home = Self { dir, lock };
        home.admit(account)?;
        Ok(home)
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What PostgreSQL calls its data directory.
    pub(crate) fn cluster_dir(&self) -> PathBuf {
        self.dir.join(CLUSTER)
    }

    /// The preferred place for the socket.
    pub(crate) fn run_dir(&self) -> PathBuf {
        self.dir.join("run")
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.dir.join("server.log")
    }

    pub(crate) fn password_path(&self) -> PathBuf {
        self.dir.join("password")
    }

    /// A new log for this run; the one of the run before is kept beside it.
    pub(crate) fn open_log(&self) -> Result<File, Error> {
        let path = self.log_path();
        if path.exists() {
            fs::rename(&path, path.with_extension("log.previous"))
                .map_err(Error::io("rename", &path))?;
        }
        OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(Error::io("create", &path))
    }

    fn admit(&self, account: &Account) -> Result<(), Error> {
        if *account == Account::Own || account.enters(&self.dir)? {
            return Ok(());
        }
        let metadata = fs::metadata(&self.dir).map_err(Error::io("look at", &self.dir))?;
        let mode = metadata.permissions().mode() | 0o001;
        fs::set_permissions(&self.dir, fs::Permissions::from_mode(mode))
            .map_err(Error::io("chmod o+x", &self.dir))?;
        account.check_reaches(&self.dir)
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Not left to closing the file: a child that was forked a moment ago elsewhere in this
        // process still shares it until its exec.
        let _ = self.lock.unlock();
    }
}

fn refuse_foreign(dir: &Path) -> Result<(), Error> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let name = entry.map_err(Error::io("list", dir))?.file_name();
        // A volume of its own carries this directory from the start.
        if name != "lost+found" {
            names.push(name);
        }
    }
    if names.is_empty() || names.iter().any(|name| name == LOCK) {
        return Ok(());
    }
    let content = if names.iter().any(|name| name == "PG_VERSION") {
        "a PostgreSQL cluster that was not made here".to_owned()
    } else {
        names.sort();
        format!(
            "not empty and no cluster of ours (it holds {})",
            names[0].display()
        )
    };
    Err(Error::ForeignDirectory {
        dir: dir.to_owned(),
        content,
    })
}

fn lock(dir: &Path) -> Result<File, Error> {
    let path = dir.join(LOCK);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(Error::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(dir, &mut file)),
        Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
    }
    file.set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(Error::io("write", &path))?;
    Ok(file)
}

fn in_use(dir: &Path, file: &mut File) -> Error {
    let mut pid = String::new();
    let owner = match file.read_to_string(&mut pid) {
        Ok(_) if !pid.trim().is_empty() => format!("process {}", pid.trim()),
        _ => "another process".to_owned(),
    };
    Error::InUse {
        dir: dir.to_owned(),
        owner,
    }
}
