//! Which requests are meant.

use super::request::{SeenRequest, Verb};

/// Matches what agrees with everything that it names; a new one names nothing.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    verb: Option<Verb>,
    resource: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
    path_prefix: Option<String>,
}

impl Matcher {
    /// Matches every request.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Only this verb.
    #[must_use]
    pub fn verb(self, verb: Verb) -> Self {
        let verb = Some(verb);
        Self { verb, ..self }
    }

    /// Only this resource: `pods`, or `pods/status` for a subresource.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        let resource = Some(resource.to_owned());
        Self { resource, ..self }
    }

    /// Only requests about this namespace; those about all are not.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        let namespace = Some(namespace.to_owned());
        Self { namespace, ..self }
    }

    /// Only requests about an object of this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        let name = Some(name.to_owned());
        Self { name, ..self }
    }

    /// Only paths that begin so, like `/readyz` or `/apis/coordination.k8s.io/`.
    #[must_use]
    pub fn path_prefix(self, prefix: &str) -> Self {
        let path_prefix = Some(prefix.to_owned());
        Self {
            path_prefix,
            ..self
        }
    }

    pub(super) fn matches(&self, request: &SeenRequest) -> bool {
        let agrees =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let prefix = self.path_prefix.as_deref().unwrap_or_default();
        self.verb.is_none_or(|verb| verb == request.verb)
            && agrees(&self.resource, &request.resource)
            && agrees(&self.namespace, &request.namespace)
            && agrees(&self.name, &request.name)
            && request.path.starts_with(prefix)
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn everything_that_is_named_must_agree() {
        let uri = "/api/v1/namespaces/a/pods/p".parse().unwrap();
        let request = SeenRequest::parse(&Method::GET, &uri);
        let all = Matcher::new()
            .verb(Verb::Get)
            .resource("pods")
            .namespace("a")
            .name("p")
            .path_prefix("/api/");
        assert!(Matcher::new().matches(&request) && all.matches(&request));
        let others = [
            all.clone().verb(Verb::List),
            all.clone().resource("pods/status"),
            all.clone().namespace("b"),
            all.clone().name("q"),
            all.path_prefix("/apis/"),
        ];
        for other in others {
            assert!(!other.matches(&request), "{other:?}");
        }
    }
}
