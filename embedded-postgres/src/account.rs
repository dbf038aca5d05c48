//! The operating system's account that the server runs as.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Error;

/// Who runs the server: ourselves, or, since PostgreSQL refuses root, somebody unprivileged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Account {
    /// We are not root: the server runs as we do.
    Own,
    /// We are root: the server drops to this account.
    Other { name: String, uid: u32, gid: u32 },
}

impl Account {
    /// The account for the cluster in `cluster_dir`. As root that is the owner of an existing
    /// cluster, so that one made without root stays usable with and without; else `postgres`,
    /// else `nobody`.
    pub(crate) fn choose(cluster_dir: &Path) -> Result<Self, Error> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Own);
        }
        let path = Path::new("/etc/passwd");
        let passwd = fs::read_to_string(path).map_err(Error::io("read", path))?;
        match fs::metadata(cluster_dir) {
            Ok(metadata) if metadata.uid() != 0 => {
                let (uid, gid) = (metadata.uid(), metadata.gid());
                Ok(Self::Other {
                    name: name_of(&passwd, uid),
                    uid,
                    gid,
                })
            }
            _ => unprivileged(&passwd).ok_or(Error::NoAccount),
        }
    }

    /// Lets the command run as this account. The standard library clears the supplementary
    /// groups when root changes the user.
    pub(crate) fn run<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match self {
            Self::Own => command,
            Self::Other { uid, gid, .. } => command.uid(*uid).gid(*gid),
        }
    }

    /// Makes `dir` with mode 0700 for this account; a directory that is there must already be so.
    pub(crate) fn private_dir(&self, dir: &Path) -> Result<(), Error> {
        match fs::create_dir(dir) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return self.check_private(dir);
            }
            Err(error) => return Err(Error::io("make directory", dir)(error)),
        }
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
            .map_err(Error::io("chmod 0700", dir))?;
        self.own(dir)
    }

    /// Somebody else's directory under our name would hand them the server's socket.
    fn check_private(&self, dir: &Path) -> Result<(), Error> {
        let metadata = fs::symlink_metadata(dir).map_err(Error::io("look at", dir))?;
        let uid = match self {
            Self::Own => rustix::process::geteuid().as_raw(),
            Self::Other { uid, .. } => *uid,
        };
        if metadata.is_dir() && metadata.uid() == uid && metadata.mode() & 0o077 == 0 {
            return Ok(());
        }
        Err(Error::ForeignDirectory {
            dir: dir.to_owned(),
            content: format!("not a directory of mode 0700 that belongs to uid {uid}"),
        })
    }

    /// Gives a file or directory to this account.
    pub(crate) fn own(&self, path: &Path) -> Result<(), Error> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid, .. } => {
                chown(path, Some(*uid), Some(*gid)).map_err(Error::io("chown", path))
            }
        }
    }

    /// Checks that this account may enter `dir`, by entering it; names the first directory on
    /// the way that it may not enter.
    pub(crate) fn check_reaches(&self, dir: &Path) -> Result<(), Error> {
        let Self::Other { name, .. } = self else {
            return Ok(());
        };
        let mut blocked = None;
        for ancestor in dir.ancestors() {
            if self.enters(ancestor)? {
                break;
            }
            blocked = Some(ancestor);
        }
        match blocked {
            None => Ok(()),
            Some(blocked) => Err(Error::DirectoryUnreachable {
                user: name.clone(),
                blocked: blocked.to_owned(),
                dir: dir.to_owned(),
            }),
        }
    }

    /// Whether this account may enter an existing directory.
    pub(crate) fn enters(&self, dir: &Path) -> Result<bool, Error> {
        // The child changes its user first and its directory afterwards.
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", ":"])
            .current_dir(dir)
            .stdin(Stdio::null());
        match self.run(&mut command).status() {
            Ok(status) => Ok(status.success()),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(false),
            Err(error) => Err(Error::io("enter", dir)(error)),
        }
    }
}

/// The name of a user, or `#` and the number of one without.
fn name_of(passwd: &str, uid: u32) -> String {
    let name = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| format!("#{uid}"))
}

/// `postgres`, else `nobody`, out of the text of `/etc/passwd`.
fn unprivileged(passwd: &str) -> Option<Account> {
    ["postgres", "nobody"].into_iter().find_map(|wanted| {
        passwd.lines().find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next().filter(|name| *name == wanted)?;
            let uid = fields.nth(1)?.parse().ok().filter(|uid| *uid != 0)?;
            let gid = fields.next()?.parse().ok()?;
            Some(Account::Other {
                name: name.to_owned(),
                uid,
                gid,
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "root:x:0:0:root:/root:/bin/sh\n";
    const NOBODY: &str = "nobody:x:65534:65533:nobody:/:/bin/false\n";

    fn account(name: &str, uid: u32, gid: u32) -> Option<Account> {
        Some(Account::Other {
            name: name.to_owned(),
            uid,
            gid,
        })
    }

    #[test]
    fn postgres_is_preferred_to_nobody() {
        let both = format!("{ROOT}{NOBODY}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        assert_eq!(unprivileged(&both), account("postgres", 101, 104));
        assert_eq!(
            unprivileged(&format!("{ROOT}{NOBODY}")),
            account("nobody", 65534, 65533)
        );
    }

    #[test]
    fn the_owner_of_a_cluster_is_named() {
        assert_eq!(name_of(NOBODY, 65534), "nobody");
        assert_eq!(name_of(NOBODY, 7), "#7");
    }

    #[test]
    fn an_account_that_is_root_or_broken_does_not_count() {
        assert_eq!(unprivileged(ROOT), None);
        let odd = format!("postgres:x:0:0::/:/bin/sh\n{NOBODY}");
        assert_eq!(unprivileged(&odd), account("nobody", 65534, 65533));
        assert_eq!(unprivileged("postgres:x\nnobody:x:a:b:"), None);
    }
}
