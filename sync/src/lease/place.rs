//! In which namespace the Lease is.

use std::io::ErrorKind;
use std::path::Path;

use super::LeaseError;

/// Where a pod finds its own namespace.
pub const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The namespace that was given, else the pod's own.
///
/// # Errors
/// Neither is there, which no amount of waiting changes.
pub fn namespace(given: Option<&str>, own: &Path) -> Result<String, LeaseError> {
    if let Some(given) = given.map(str::trim).filter(|given| !given.is_empty()) {
        return Ok(given.to_owned());
    }
    let path = own.display().to_string();
    match std::fs::read_to_string(own) {
        Ok(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        Ok(_) => Err(LeaseError::NamespaceFile(path, "it is empty".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(LeaseError::NoNamespace(path)),
        Err(error) => {
            let text = ipledger_client::io_error_text(&error);
            Err(LeaseError::NamespaceFile(path, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_wins_and_else_the_pods_own_counts() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("namespace");
        let missing = namespace(None, &file).unwrap_err();
        assert_eq!(missing.kind(), "lease_namespace_unknown");
        assert!(missing.to_string().contains("set --lease-namespace"));
        std::fs::write(&file, " \n").unwrap();
        let empty = namespace(Some(""), &file).unwrap_err();
        assert_eq!(empty.kind(), "lease_namespace_unreadable");
        std::fs::write(&file, "net\n").unwrap();
        assert_eq!(namespace(None, &file).unwrap(), "net");
        assert_eq!(namespace(Some("other"), &file).unwrap(), "other");
    }
}
