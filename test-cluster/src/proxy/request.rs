//! What a request asks of the API server, in its own terms.

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

/// What is to be done, as RBAC names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "these are Kubernetes' own words")]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    /// Whether it may change something.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

/// A request that reached the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenRequest {
    /// What is to be done.
    pub verb: Verb,
    /// `pods`, or `pods/status` for a subresource; nothing for paths like `/readyz`.
    pub resource: Option<String>,
    /// The namespace, if it is about one.
    pub namespace: Option<String>,
    /// The object's name, if it is about one; also where a list selects by `metadata.name`.
    pub name: Option<String>,
    /// The path with its query.
    pub path: String,
}

impl SeenRequest {
    pub(super) fn parse(method: &Method, uri: &Uri) -> Self {
        let segments: Vec<&str> = uri
            .path()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect();
        let mut request = Self {
            verb: Verb::Get,
            resource: None,
            namespace: None,
            name: None,
            path: uri
                .path_and_query()
                .map_or_else(String::new, ToString::to_string),
        };
        if let ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] = segments.as_slice() {
            request.locate(rest);
        }
        let query = Query(uri.query().unwrap_or_default());
        request.verb = request.verb_of(method, &query);
        if matches!(request.verb, Verb::List | Verb::Watch) {
            request.name = request.name.or_else(|| query.selected_name());
        }
        request
    }

    /// What stands behind the version in a path.
    fn locate(&mut self, path: &[&str]) {
        let path = match path {
            // A subresource of a namespace, not a resource in it.
            ["namespaces", _, "status" | "finalize"] => path,
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                self.namespace = Some((*namespace).to_owned());
                rest
            }
            _ => path,
        };
        let Some(resource) = path.first() else {
            return;
        };
        self.name = path.get(1).map(|name| (*name).to_owned());
        self.resource = Some(match path.get(2) {
            Some(subresource) => format!("{resource}/{subresource}"),
            None => (*resource).to_owned(),
        });
    }

    fn verb_of(&self, method: &Method, query: &Query<'_>) -> Verb {
        match (method.as_str(), &self.name) {
            ("POST", _) => Verb::Create,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => Verb::Patch,
            ("DELETE", Some(_)) => Verb::Delete,
            ("DELETE", None) => Verb::DeleteCollection,
            _ if self.resource.is_none() => Verb::Get,
            _ if query.is_true("watch") => Verb::Watch,
            (_, Some(_)) => Verb::Get,
            (_, None) => Verb::List,
        }
    }

    /// Whether a watch is to begin with what is there (a streaming list).
    pub(super) fn begins_with_a_list(&self) -> bool {
        let query = self.path.split_once('?').map_or("", |(_, query)| query);
        Query(query).is_true("sendInitialEvents")
    }
}

/// The part of a URI behind its question mark.
struct Query<'a>(&'a str);

impl Query<'_> {
    fn value(&self, key: &str) -> Option<String> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.into_iter().find(|(name, _)| *name == key)?;
        Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
    }

    fn is_true(&self, key: &str) -> bool {
        matches!(self.value(key).as_deref(), Some("true" | "1"))
    }

    fn selected_name(&self) -> Option<String> {
        let selector = self.value("fieldSelector")?;
        let mut terms = selector.split(',');
        let name = terms.find_map(|term| term.strip_prefix("metadata.name="))?;
        Some(name.trim_start_matches('=').to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(method: &str, uri: &str) -> (Verb, String) {
        let method = method.parse().unwrap();
        let request = SeenRequest::parse(&method, &uri.parse().unwrap());
        let part = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
        let (resource, namespace) = (part(request.resource), part(request.namespace));
        (
            request.verb,
            format!("{resource} {namespace} {}", part(request.name)),
        )
    }

    #[test]
    fn paths_are_read_as_the_api_server_reads_them() {
        let pools = "/apis/whereabouts.cni.cncf.io/v1alpha1/namespaces/kube-system/ippools";
        let table = [
            ("GET", "/api/v1/pods", Verb::List, "pods - -"),
            ("GET", "/api/v1/pods?watch=true", Verb::Watch, "pods - -"),
            ("GET", "/api/v1/namespaces/a/pods/p", Verb::Get, "pods a p"),
            (
                "PATCH",
                "/api/v1/namespaces/a/pods/p/status",
                Verb::Patch,
                "pods/status a p",
            ),
            ("GET", "/api/v1/namespaces", Verb::List, "namespaces - -"),
            (
                "DELETE",
                "/api/v1/namespaces/a",
                Verb::Delete,
                "namespaces - a",
            ),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                Verb::Update,
                "namespaces/finalize - a",
            ),
            ("GET", "/api/v1/nodes/n", Verb::Get, "nodes - n"),
            ("POST", pools, Verb::Create, "ippools kube-system -"),
            (
                "DELETE",
                pools,
                Verb::DeleteCollection,
                "ippools kube-system -",
            ),
            ("GET", "/readyz?watch=true", Verb::Get, "- - -"),
            ("GET", "/apis/apps/v1", Verb::Get, "- - -"),
        ];
        for (method, uri, verb, place) in table {
            assert_eq!(
                parsed(method, uri),
                (verb, place.to_owned()),
                "{method} {uri}"
            );
        }
    }

    #[test]
    fn a_list_by_name_is_about_that_name() {
        let uri = "/api/v1/namespaces/a/pods?limit=1&fieldSelector=metadata.name%3Dp";
        assert_eq!(parsed("GET", uri), (Verb::List, "pods a p".to_owned()));
    }

    #[test]
    fn a_streaming_list_is_told_from_a_watch() {
        let begins = |uri: &str| {
            SeenRequest::parse(&Method::GET, &uri.parse().unwrap()).begins_with_a_list()
        };
        assert!(begins("/api/v1/pods?watch=true&sendInitialEvents=true"));
        assert!(!begins("/api/v1/pods?watch=true&sendInitialEvents=false"));
        assert!(!begins("/api/v1/pods?watch=true"));
    }
}
