//! The superuser's password, which only TCP needs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use crate::{Error, Settings, admin, random};

/// 32 of 32 letters: 160 bits.
const LENGTH: usize = 32;

/// Time for the server to take it.
const BOUND: Duration = Duration::from_secs(30);

/// Makes the password file if it is absent, and gives the password to the superuser.
///
/// The file is a line as in `~/.pgpass`, so `PGPASSFILE` serves it to psql and sqlx alike.
pub(crate) fn ensure(path: &Path, settings: &Settings, port: u16, url: &str) -> Result<(), Error> {
    let password = match known(path)? {
        Some(password) => password,
        None => random::text(LENGTH)?,
    };
    let user = settings.user.replace('\\', "\\\\").replace(':', "\\:");
    write(path, &format!("127.0.0.1:{port}:*:{user}:{password}\n"))?;
    let role = quote(&settings.user);
    // The password consists of letters and digits. A failing statement must not be logged.
    let statement = format!(
        "SET log_min_error_statement = panic; SET log_statement = none; \
         ALTER ROLE {role} PASSWORD '{password}'"
    );
    admin::execute(url, "set the superuser's password", BOUND, &[statement])
}

/// A name as an SQL identifier.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn known(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(line) => Ok(line
            .trim_end()
            .rsplit_once(':')
            .map(|(_, password)| password.to_owned())
            .filter(|password| {
                password.len() == LENGTH && password.bytes().all(|b| b.is_ascii_alphanumeric())
            })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Replaces the file at once, readable by the owner only.
fn write(path: &Path, line: &str) -> Result<(), Error> {
    let new = path.with_extension("new");
    let failed = Error::io("write", &new);
    let _ = fs::remove_file(&new);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new)
        .and_then(|mut file| {
            file.write_all(line.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .map_err(failed)?;
    fs::rename(&new, path).map_err(Error::io("rename", &new))
}
