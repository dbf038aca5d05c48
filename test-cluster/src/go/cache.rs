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

/// The directory `name` in `root`; `make` fills it if it is not there. Of several processes that
/// ask at once one makes it, and a maker that is killed leaves nothing that looks finished.
pub(super) fn get_or_make(
    root: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let finished = root.join(name);
    if finished.exists() {
        return Ok(finished);
    }
    fs::create_dir_all(root).map_err(Error::io("make", root))?;
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn of_those_who_ask_at_once_one_makes_it() {
        let root = tempfile::tempdir().unwrap();
        let made = AtomicUsize::new(0);
        let ask = || {
            get_or_make(root.path(), "program", |dir| {
                made.fetch_add(1, Ordering::SeqCst);
                fs::write(dir.join("program"), "").map_err(Error::io("write", dir))
            })
        };
        thread::scope(|scope| {
            let askers: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            for asker in askers {
                assert!(asker.join().unwrap().unwrap().join("program").exists());
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn what_was_not_finished_is_made_again() {
        let root = tempfile::tempdir().unwrap();
        let fail = |dir: &Path| {
            fs::write(dir.join("half"), "").map_err(Error::io("write", dir))?;
            Err(Error::io("fail in", dir)(std::io::Error::other("killed")))
        };
        get_or_make(root.path(), "program", fail).unwrap_err();
        let made = get_or_make(root.path(), "program", |_| Ok(())).unwrap();
        assert!(!made.join("half").exists());
    }

    #[test]
    fn another_flag_is_another_directory() {
        let module = tempfile::tempdir().unwrap();
        fs::write(module.path().join("go.mod"), "module a\n").unwrap();
        let recipe = |tags| Recipe {
            module: "a",
            package: ".",
            tags,
            linker_flags: "",
            programs: &["a"],
            duration: "",
        };
        let digest = |tags| recipe(tags).digest(module.path()).unwrap();
        let first = digest("one");
        assert_eq!(digest("one"), first);
        assert_ne!(digest("two"), first);
        fs::write(module.path().join("go.mod"), "module b\n").unwrap();
        assert_ne!(digest("one"), first);
    }
}
