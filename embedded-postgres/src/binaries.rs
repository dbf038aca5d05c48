//! The server binaries of one PostgreSQL installation.

mod install_hint;
mod search;

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Error;
pub use search::Search;

/// The oldest PostgreSQL that is supported.
const OLDEST_MAJOR: u32 = 14;

/// A version as `postgres --version` tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    major: u32,
    text: String,
}

impl Version {
    /// The number that decides whether a cluster can be opened, for example 15.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Reads `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, `… 18beta2` and the like.
    fn parse(output: &str) -> Option<Self> {
        let text = output
            .trim()
            .split_once("(PostgreSQL) ")?
            .1
            .split(' ')
            .next()?;
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        Some(Self {
            major: text[..digits].parse().ok()?,
            text: text.to_owned(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A directory that holds `postgres` and `initdb`, and the version of both.
#[derive(Debug, Clone)]
pub struct Binaries {
    dir: PathBuf,
    version: Version,
}

impl Binaries {
    /// Finds the binaries. `flag` is a directory that a person named: it is taken or refused,
    /// nothing else is tried. Without it the order is `pg_config --bindir`, the newest of the
    /// platform's usual directories, `PATH`; what is too old is passed over for what is not.
    ///
    /// # Errors
    /// [`Error::BinariesMissing`] with the platform's install command in one line,
    /// [`Error::BinariesTooOld`] or [`Error::BinariesUnusable`].
    pub fn find(flag: Option<&Path>) -> Result<Self, Error> {
        Search::of_this_machine(flag).run()
    }

    /// The directory of the binaries.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The version of the binaries.
    #[must_use]
    pub fn version(&self) -> &Version {
        &self.version
    }

    /// The path of one of the binaries, for example `pg_basebackup`; it may be absent.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// `None` if the two binaries are not both in `dir`.
    fn in_dir(dir: &Path) -> Option<Result<Self, Error>> {
        let there = |name: &str| dir.join(name).is_file();
        (there("postgres") && there("initdb")).then(|| Self::ask(dir))
    }

    fn ask(dir: &Path) -> Result<Self, Error> {
        // The server is started in another directory than ours.
        let dir = &std::path::absolute(dir).map_err(Error::io("resolve", dir))?;
        let path = dir.join("postgres");
        let unusable = |reason: String| Error::BinariesUnusable {
            path: path.clone(),
            reason,
        };
        let output = Command::new(&path)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| unusable(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = Version::parse(&text)
            .ok_or_else(|| unusable(format!("{:?} ({})", text.trim(), output.status)))?;
        if version.major < OLDEST_MAJOR {
            return Err(Error::BinariesTooOld {
                dir: dir.to_owned(),
                version: version.text,
            });
        }
        Ok(Self {
            dir: dir.to_owned(),
            version,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_releases_and_betas_are_read() {
        let version = |text: &str| Version::parse(text).map(|v| (v.major, v.text));
        let debian = "postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)\n";
        assert_eq!(version(debian), Some((15, "15.14".to_owned())));
        assert_eq!(
            version("postgres (PostgreSQL) 18beta2"),
            Some((18, "18beta2".to_owned()))
        );
        assert_eq!(
            version("postgres (PostgreSQL) 9.6.24"),
            Some((9, "9.6.24".to_owned()))
        );
        assert_eq!(version("postgres (PostgreSQL) devel"), None);
        assert_eq!(version("mysqld 8"), None);
    }
}
