//! Names and secrets that nobody can guess.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::Error;

/// `length` random characters out of 32 that are safe in file, role and database names.
pub(crate) fn text(length: usize) -> Result<String, Error> {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let source = Path::new("/dev/urandom");
    let mut bytes = vec![0; length];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::io("read", source))?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect())
}
