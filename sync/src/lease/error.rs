use crate::observe::failure_text;

/// Why the Lease cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Nobody said in which namespace it is.
    #[error(
        "the namespace of the Lease is not known: this is no pod ({0} is not there), so set \
         --lease-namespace or IPLEDGER_LEASE_NAMESPACE"
    )]
    NoNamespace(String),
    /// The pod's own namespace cannot be read.
    #[error("the namespace of the Lease cannot be read from {0}: {1}; set --lease-namespace")]
    NamespaceFile(String, String),
    /// The namespace does not exist.
    #[error(
        "the namespace {0} of the Lease does not exist; create it, or set --lease-namespace to \
         one that does"
    )]
    NamespaceMissing(String),
    /// A right is missing: verb, name, namespace, and the API server's words.
    #[error(
        "may not {0} the Lease {1} in namespace {2} (does the namespace exist?): apply \
         deploy/sync/rbac.yaml there and bind it to this account ({3})"
    )]
    Forbidden(&'static str, String, String, String),
    /// Name or namespace cannot be those of a Lease.
    #[error("the Lease {1} in namespace {0} cannot be: {2}; see --lease-name, --lease-namespace")]
    Invalid(String, String, String),
    /// It is not there yet.
    #[error("there is no Lease {0}")]
    Missing(String),
    /// Somebody else was faster.
    #[error("the Lease was written by another replica meanwhile")]
    Conflict,
    /// The API server does not answer as it should.
    #[error("the Lease cannot be reached: {0}")]
    Unreachable(String),
}

impl LeaseError {
    pub(super) fn of(error: &kube::Error, verb: &'static str, namespace: &str, name: &str) -> Self {
        let text = failure_text(error);
        let kube::Error::Api(status) = error else {
            return LeaseError::Unreachable(text);
        };
        let kind = status.details.as_ref().map(|details| details.kind.as_str());
        match (status.code, status.reason.as_str(), kind) {
            (401 | 403, ..) => {
                LeaseError::Forbidden(verb, name.to_owned(), namespace.to_owned(), text)
            }
            (404, "NotFound", Some("namespaces")) => {
                LeaseError::NamespaceMissing(namespace.to_owned())
            }
            (404, "NotFound", Some("leases")) => LeaseError::Missing(name.to_owned()),
            (409, ..) => LeaseError::Conflict,
            (400 | 422, ..) => LeaseError::Invalid(namespace.to_owned(), name.to_owned(), text),
            _ => LeaseError::Unreachable(text),
        }
    }

    /// A fixed word for logs and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            LeaseError::NoNamespace(_) => "lease_namespace_unknown",
            LeaseError::NamespaceFile(..) => "lease_namespace_unreadable",
            LeaseError::NamespaceMissing(_) => "lease_namespace_missing",
            LeaseError::Forbidden(..) => "lease_forbidden",
            LeaseError::Invalid(..) => "lease_invalid",
            LeaseError::Missing(_) => "lease_missing",
            LeaseError::Conflict => "lease_conflict",
            LeaseError::Unreachable(_) => "lease_unreachable",
        }
    }

    /// Whether only a person can mend it.
    #[must_use]
    pub fn is_final(&self) -> bool {
        !matches!(
            self,
            LeaseError::Missing(_) | LeaseError::Conflict | LeaseError::Unreachable(_)
        )
    }

    pub(super) fn is_missing(&self) -> bool {
        matches!(self, LeaseError::Missing(_))
    }

    pub(super) fn is_conflict(&self) -> bool {
        matches!(self, LeaseError::Conflict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_one_line_that_names_the_place_and_the_remedy() {
        let refused = |body: &str| {
            let status: kube::core::Status = serde_json::from_str(body).unwrap();
            LeaseError::of(&kube::Error::Api(status.boxed()), "create", "net", "sync")
        };
        for (body, kind, is_final, words) in [
            (
                r#"{"code":403,"message":"no\nrights"}"#,
                "lease_forbidden",
                true,
                "may not create the Lease sync in namespace net",
            ),
            (
                r#"{"code":404,"reason":"NotFound","details":{"kind":"namespaces","name":"net"}}"#,
                "lease_namespace_missing",
                true,
                "the namespace net of the Lease does not exist",
            ),
            (
                r#"{"code":422,"message":"a name"}"#,
                "lease_invalid",
                true,
                "the Lease sync in namespace net cannot be: a name",
            ),
            (r#"{"code":409}"#, "lease_conflict", false, "the Lease was"),
            (r#"{"code":500}"#, "lease_unreachable", false, "the Lease"),
            (r#"{"code":404}"#, "lease_unreachable", false, "the Lease"),
        ] {
            let error = refused(body);
            let text = error.to_string();
            assert_eq!((error.kind(), error.is_final()), (kind, is_final), "{body}");
            assert!(text.starts_with(words) && !text.contains('\n'), "{text}");
        }
    }
}
