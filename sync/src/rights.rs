//! The rights that this program needs, and whether it has them: asked once at the start, so that
//! a missing one is named before anything waits for it.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use crate::lease::LeaseConfig;
use crate::observe::failure_text;

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// A right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    /// Only in this namespace; `None` means all of them.
    namespace: Option<String>,
    /// Only this object.
    name: Option<String>,
    /// Without it nothing is freed. The others only tell something.
    needed: bool,
}

impl Right {
    const fn new(verb: &'static str, group: &'static str, resource: &'static str) -> Self {
        Self {
            verb,
            group,
            resource,
            namespace: None,
            name: None,
            needed: true,
        }
    }

    fn in_namespace(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    fn named(self, name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..self
        }
    }

    fn optional(self) -> Self {
        Self {
            needed: false,
            ..self
        }
    }

    /// For people.
    fn text(&self) -> String {
        let Right {
            verb,
            group,
            resource,
            ..
        } = self;
        let dot = if group.is_empty() { "" } else { "." };
        let place = self.namespace.as_deref();
        let place = place.map(|namespace| format!(" in namespace {namespace}"));
        let name = self.name.as_deref().map(|name| format!(" {name}"));
        format!(
            "{verb} {resource}{dot}{group}{}{}",
            name.unwrap_or_default(),
            place.unwrap_or_default()
        )
    }
}

/// What looking at a cluster needs.
#[must_use]
pub fn to_look() -> Vec<Right> {
    const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
    const DEFINITIONS: (&str, &str) = ("k8s.cni.cncf.io", "network-attachment-definitions");
    vec![
        Right::new("get", "", "namespaces").named("kube-system"),
        Right::new("get", "", "pods"),
        Right::new("list", "", "pods"),
        Right::new("watch", "", "pods"),
        Right::new("get", "", "nodes"),
        Right::new("list", "", "nodes"),
        Right::new("watch", "", "nodes"),
        Right::new("get", LEASES.0, LEASES.1).in_namespace("kube-node-lease"),
        Right::new("list", DEFINITIONS.0, DEFINITIONS.1).optional(),
        Right::new("watch", DEFINITIONS.0, DEFINITIONS.1).optional(),
    ]
}

/// What holding the Lease and telling events about it needs.
#[must_use]
pub fn to_lead(lease: &LeaseConfig) -> Vec<Right> {
    let lease_right =
        |verb| Right::new(verb, "coordination.k8s.io", "leases").in_namespace(&lease.namespace);
    let event_right =
        |verb| Right::new(verb, "events.k8s.io", "events").in_namespace(&lease.namespace);
    vec![
        lease_right("get").named(&lease.name),
        lease_right("create"),
        lease_right("update").named(&lease.name),
        event_right("create").optional(),
        event_right("patch").optional(),
    ]
}

/// What showing holds as objects of a namespace needs.
#[must_use]
pub fn to_project(namespace: &str) -> Vec<Right> {
    const GROUP: &str = "whereabouts.cni.cncf.io";
    let mut rights: Vec<Right> = ["ippools", "overlappingrangeipreservations"]
        .into_iter()
        .flat_map(|resource| {
            let verbs = ["get", "list", "watch", "create", "patch", "delete"];
            verbs.map(|verb| Right::new(verb, GROUP, resource).in_namespace(namespace))
        })
        .collect();
    rights.extend([
        Right::new("list", "apps", "deployments"),
        Right::new("list", "apps", "daemonsets"),
        Right::new("create", "events.k8s.io", "events")
            .in_namespace(namespace)
            .optional(),
    ]);
    rights
}

/// What is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Rights without which nothing works.
    pub needed: Vec<String>,
    /// Rights without which something is not told.
    pub optional: Vec<String>,
}

impl Missing {
    /// One line for whoever must mend it; `None` if nothing that is needed is missing.
    #[must_use]
    pub fn complaint(&self) -> Option<String> {
        (!self.needed.is_empty()).then(|| {
            format!(
                "rights are missing: {}; apply deploy/sync/rbac.yaml and bind it to this account",
                self.needed.join(", ")
            )
        })
    }
}

/// Asks the API server which of these rights this account does not have.
///
/// # Errors
/// The API server's answer, in words, if it gives none about rights.
pub async fn missing(client: &Client, rights: &[Right]) -> Result<Missing, String> {
    let mut missing = Missing::default();
    for right in rights {
        if !is_given(client, right).await? {
            let list = if right.needed {
                &mut missing.needed
            } else {
                &mut missing.optional
            };
            list.push(right.text());
        }
    }
    Ok(missing)
}

async fn is_given(client: &Client, right: &Right) -> Result<bool, String> {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let some = |text: &str| Some(text.to_owned());
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: some(right.verb),
                group: some(right.group),
                resource: some(right.resource),
                namespace: right.namespace.clone(),
                name: right.name.clone(),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let post = PostParams::default();
    let answer = tokio::time::timeout(PATIENCE, api.create(&post, &review)).await;
    let answer = answer.map_err(|_| "no answer in time".to_owned())?;
    let review = answer.map_err(|error| failure_text(&error))?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_in_one_line() {
        let lease = LeaseConfig {
            namespace: "net".to_owned(),
            name: "sync".to_owned(),
            identity: "a".to_owned(),
            duration: Duration::from_secs(15),
        };
        let rights = to_lead(&lease);
        let missing = Missing {
            needed: vec![to_look()[1].text(), rights[0].text(), rights[1].text()],
            optional: vec![rights[3].text()],
        };
        assert_eq!(
            missing.complaint().unwrap(),
            "rights are missing: get pods, get leases.coordination.k8s.io sync in namespace net, \
             create leases.coordination.k8s.io in namespace net; apply deploy/sync/rbac.yaml and \
             bind it to this account"
        );
        assert_eq!(Missing::default().complaint(), None);
    }
}
