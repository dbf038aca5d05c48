//! Values of headers, which may be secrets: refused without being shown.

use crate::error::ClientError;

/// # Errors
/// [`ClientError::Header`] if the value is empty or is not printable ASCII.
pub(crate) fn check(name: &'static str, value: &str) -> Result<(), ClientError> {
    let printable = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
    if value.is_empty() || !value.bytes().all(printable) {
        return Err(ClientError::Header { name });
    }
    Ok(())
}

/// The value of `Authorization` for a token.
///
/// # Errors
/// [`ClientError::Header`] if the token is empty or is not printable ASCII.
pub(crate) fn bearer(token: &str) -> Result<String, ClientError> {
    check("Authorization", token)?;
    Ok(format!("Bearer {token}"))
}
