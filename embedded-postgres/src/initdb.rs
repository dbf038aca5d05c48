//! Making a cluster so that a kill at any moment leaves either none or a whole one.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use crate::{Binaries, Error, Settings, account::Account, home::Home, parent_death};

/// Unfinished clusters carry this prefix and the number of the process that made them.
const UNFINISHED: &str = "cluster.unfinished.";

/// Makes the cluster if there is none; refuses one of another major version.
pub(crate) fn ensure(
    binaries: &Binaries,
    settings: &Settings,
    account: &Account,
    home: &Home,
) -> Result<(), Error> {
    remove_unfinished(home);
    let cluster = home.cluster_dir();
    if cluster.exists() {
        return check_version(binaries, home);
    }
    // initdb works beside the final place and a rename makes the result appear at once.
    let unfinished = home
        .dir()
        .join(format!("{UNFINISHED}{}", std::process::id()));
    account.private_dir(&unfinished)?;
    run(binaries, settings, account, &unfinished).inspect_err(|_| remove_unfinished(home))?;
    fs::rename(&unfinished, &cluster).map_err(Error::io("rename", &unfinished))?;
    if settings.durable {
        File::open(home.dir())
            .and_then(|dir| dir.sync_all())
            .map_err(Error::io("sync", home.dir()))?;
    }
    Ok(())
}

/// What a killed predecessor left. Its own initdb may still write there for a moment, so a
/// failure is left to the next start; the name is never used again.
fn remove_unfinished(home: &Home) {
    for entry in fs::read_dir(home.dir()).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(path = %entry.path().display(), %error, "unfinished cluster not removed");
        }
    }
}

fn check_version(binaries: &Binaries, home: &Home) -> Result<(), Error> {
    let path = home.cluster_dir().join("PG_VERSION");
    let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
    let server = binaries.version().major();
    if text.trim() == server.to_string() {
        return Ok(());
    }
    Err(Error::OtherMajorVersion {
        dir: home.dir().to_owned(),
        cluster: text.trim().to_owned(),
        binaries: binaries.dir().to_owned(),
        server,
    })
}

fn run(
    binaries: &Binaries,
    settings: &Settings,
    account: &Account,
    target: &Path,
) -> Result<(), Error> {
    let program = binaries.program("initdb");
    let mut command = parent_death::command(&program, "KILL");
    command.arg("-D").arg(target);
    command.arg(format!("--username={}", settings.user));
    // One byte order of text on every machine, whatever its locale.
    command.args(["--encoding=UTF8", "--locale=C"]);
    // Over the socket everybody is trusted, because only the owner of its directory (mode 0700)
    // reaches it. Over TCP everybody on the machine knocks, so a password is needed there.
    command.args(["--auth-local=trust", "--auth-host=scram-sha-256"]);
    command.arg(if settings.durable {
        "--data-checksums"
    } else {
        "--no-sync"
    });
    let output = account
        .run(clean_environment(&mut command))
        .current_dir(target)
        .stdin(Stdio::null())
        .output()
        .map_err(Error::io("run", &program))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Initdb {
        status: output.status.to_string(),
        output: said.trim().to_owned(),
    })
}

/// The caller's locale and PG* variables must not shape the cluster.
pub(crate) fn clean_environment(command: &mut std::process::Command) -> &mut std::process::Command {
    for (key, _) in std::env::vars_os() {
        let text = key.to_string_lossy();
        if ["PG", "LC_", "LANG"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&key);
        }
    }
    command.env("LC_ALL", "C")
}
