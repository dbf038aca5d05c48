//! Where the binaries are looked for, and in which order.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Binaries, install_hint};
use crate::Error;

/// Everything a search depends on, gathered first, so that it can be run against any machine.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// The directory that a person named: the only candidate if given.
    pub flag: Option<PathBuf>,
    /// What `pg_config --bindir` answered.
    pub pg_config_bindir: Option<PathBuf>,
    /// Usual places, best first.
    pub usual: Vec<PathBuf>,
    /// The directories of `PATH`.
    pub path: Vec<PathBuf>,
    /// The operating system as in [`std::env::consts::OS`], for the install command.
    pub os: String,
    /// The text of `/etc/os-release`, for the install command.
    pub os_release: String,
}

impl Search {
    /// The search on this machine, with its environment.
    #[must_use]
    pub fn of_this_machine(flag: Option<&Path>) -> Self {
        let platform = Self {
            flag: flag.map(Path::to_owned),
            os: env::consts::OS.to_owned(),
            os_release: fs::read_to_string("/etc/os-release").unwrap_or_default(),
            ..Self::default()
        };
        if flag.is_some() {
            return platform;
        }
        Self {
            pg_config_bindir: pg_config_bindir(),
            usual: usual_places(Path::new("/")),
            path: env::var_os("PATH")
                .map(|path| env::split_paths(&path).collect())
                .unwrap_or_default(),
            ..platform
        }
    }

    /// Takes the first candidate that holds usable binaries.
    ///
    /// # Errors
    /// As [`Binaries::find`]. If all that was found is unusable, the first of it is named.
    pub fn run(&self) -> Result<Binaries, Error> {
        let mut refused = None;
        for dir in self.candidates() {
            match Binaries::in_dir(dir) {
                Some(Ok(binaries)) => return Ok(binaries),
                Some(Err(error)) => refused = refused.or(Some(error)),
                None => {}
            }
        }
        Err(refused.unwrap_or_else(|| self.missing()))
    }

    fn candidates(&self) -> Vec<&Path> {
        if let Some(flag) = &self.flag {
            return vec![flag];
        }
        let places = self
            .pg_config_bindir
            .iter()
            .chain(&self.usual)
            .chain(&self.path);
        places.map(PathBuf::as_path).collect()
    }

    fn missing(&self) -> Error {
        let searched = match &self.flag {
            Some(flag) => format!("postgres and initdb are not both in {}", flag.display()),
            None => "looked at pg_config --bindir, the usual directories and PATH".to_owned(),
        };
        Error::BinariesMissing {
            searched,
            install: install_hint::command(&self.os, &self.os_release),
        }
    }
}

fn pg_config_bindir() -> Option<PathBuf> {
    let output = Command::new("pg_config")
        .arg("--bindir")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let dir = text.trim();
    (output.status.success() && !dir.is_empty()).then(|| PathBuf::from(dir))
}

/// The directories that distributions use, the newest version first.
fn usual_places(root: &Path) -> Vec<PathBuf> {
    let mut versioned = Vec::new();
    for (parent, prefix, bin) in [
        ("usr/lib/postgresql", "", "bin"),
        ("usr", "pgsql-", "bin"),
        ("opt/homebrew/opt", "postgresql@", "bin"),
        ("usr/local/opt", "postgresql@", "bin"),
        ("usr/libexec", "postgresql", ""),
    ] {
        let entries = fs::read_dir(root.join(parent))
            .into_iter()
            .flatten()
            .flatten();
        versioned.extend(entries.filter_map(|entry| {
            let name = entry.file_name();
            let major: u32 = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((major, entry.path().join(bin)))
        }));
    }
    versioned.sort_by_key(|(major, _)| std::cmp::Reverse(*major));
    let unversioned = ["opt/homebrew/bin", "usr/local/pgsql/bin"].map(|dir| root.join(dir));
    versioned
        .into_iter()
        .map(|(_, dir)| dir)
        .chain(unversioned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first_and_as_a_number() {
        let root = tempfile::tempdir().unwrap();
        for dir in [
            "usr/lib/postgresql/9/bin",
            "usr/lib/postgresql/16/bin",
            "usr/pgsql-17/bin",
        ] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        fs::create_dir_all(root.path().join("usr/lib/postgresql/common")).unwrap();
        let places = usual_places(root.path());
        let names: Vec<_> = places
            .iter()
            .map(|dir| dir.strip_prefix(root.path()).unwrap().to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            [
                "usr/pgsql-17/bin",
                "usr/lib/postgresql/16/bin",
                "usr/lib/postgresql/9/bin",
                "opt/homebrew/bin",
                "usr/local/pgsql/bin"
            ]
        );
    }
}
