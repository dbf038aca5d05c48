//! Directories that are made once, whoever asks first.

use std::env;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Recipe;
use super::build::say;
use crate::Error;

/// The part of a digest that names a directory.
const DIGEST_DIGITS: usize = 16;

/// Everything that outlives a checkout.
pub(super) fn root() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|dir| dir.is_absolute())
    };
    let home = || absolute("HOME").map(|home| home.join(".cache"));
    absolute("XDG_CACHE_HOME")
        .or_else(home)
        .map(|cache| cache.join("ipledger-tests"))
}

impl Recipe {
    /// Names what is built: changes with the sources, the pinned modules and the flags.
    pub(super) fn digest(&self, module: &Path) -> Result<String, Error> {
        let mut digest = Sha256::new();
        for part in [self.package, self.tags, self.linker_flags] {
            digest.update(part);
            digest.update("\0");
        }
        for path in sources(module)? {
            digest.update(fs::read(&path).map_err(Error::io("read", &path))?);
        }
        let digits: String = digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(format!("{}-{}", self.programs[0], &digits[..DIGEST_DIGITS]))
    }
}

/// The files of a module, in a fixed order.
fn sources(module: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(module).map_err(Error::io("list", module))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(Error::io("list", module))?;
    paths.sort();
    Ok(paths)
}

/// The directory `name` of the cache; `make` fills it if it is not there. Of several processes
/// that ask at once one makes it, and a maker that is killed leaves nothing that looks finished.
pub(super) fn get_or_make(
    module: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let root = root().ok_or_else(|| Error::Build {
        module: module.to_owned(),
        reason: "neither XDG_CACHE_HOME nor HOME names a directory to keep it in".to_owned(),
    })?;
    let finished = root.join(name);
    if finished.exists() {
        return Ok(finished);
    }
    fs::create_dir_all(&root).map_err(Error::io("make", &root))?;
    let _lock = lock(&root.join(format!("{name}.lock")))?;
    if finished.exists() {
        return Ok(finished);
    }
    let unfinished = root.join(format!("{name}.unfinished"));
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(Error::io("remove", &unfinished))?;
    }
    fs::create_dir(&unfinished).map_err(Error::io("make", &unfinished))?;
    make(&unfinished)?;
    fs::rename(&unfinished, &finished).map_err(Error::io("rename", &unfinished))?;
    Ok(finished)
}

/// Held until it is dropped; the system drops it for a process that is killed.
fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::io("make", path))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            say(&format!("waiting for another build ({})", path.display()));
        }
        Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
    }
    file.lock().map_err(Error::io("lock", path))?;
    Ok(file)
}
