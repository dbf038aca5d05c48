//! Direct reads: the evidence. Each is timed, bounded, and says either what the API server said
//! about the very object or why nothing is known.

use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};

use super::nodes::{self, NodeMemory, NodeObject, Renewal};
use super::pace::Pace;
use super::{failure, pods};
use crate::clock::SharedClock;
use crate::diff::{self, Blind, NameList, PodName, PodRead, Read};
use crate::metrics::{Metrics, ReadLabels};

/// Where nodes renew their Leases.
const NODE_LEASES: &str = "kube-node-lease";

/// How hard the API server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    /// How long one read may take.
    pub timeout: Duration,
    /// How many are under way at once.
    pub at_once: usize,
    /// How many are sent in a second.
    pub per_second: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(10),
            at_once: 16,
            per_second: 100,
        }
    }
}

/// Reads single objects, past all caches.
pub struct DirectReader {
    client: Client,
    clock: SharedClock,
    limits: ReadLimits,
    pace: Pace,
    metrics: Metrics,
}

/// A pod to look at.
pub(crate) struct Suspect<'a> {
    pub(crate) name: &'a PodName,
    /// The UIDs of the holds' owners, as far as they are known.
    pub(crate) uids: Vec<Option<&'a str>>,
}

impl DirectReader {
    /// Reads through this client, and no other.
    #[must_use]
    pub fn new(client: Client, clock: SharedClock, limits: ReadLimits, metrics: Metrics) -> Self {
        Self {
            client,
            clock,
            limits,
            pace: Pace::new(limits.per_second),
            metrics,
        }
    }

    /// The UID of the namespace `kube-system`, and when it was asked for.
    ///
    /// # Errors
    /// Why it is not known, in kind and words.
    pub async fn kube_system(&self) -> Result<(Timestamp, String), (Blind, String)> {
        let api: Api<Namespace> = Api::all(self.client.clone());
        let answer = self.read("namespaces", api.get("kube-system")).await;
        let (at, object) = answer.map_err(|failed| (failed.blind, failed.text))?;
        let named = object.metadata.name.as_deref() == Some("kube-system");
        match object.metadata.uid.filter(|uid| named && !uid.is_empty()) {
            Some(uid) => Ok((at, uid)),
            None => Err((
                Blind::Unreadable,
                "the answer is not the namespace kube-system".to_owned(),
            )),
        }
    }

    /// Looks at all of these, several at a time.
    pub(crate) async fn pods(&self, suspects: Vec<Suspect<'_>>) -> Vec<(PodName, PodRead)> {
        stream::iter(suspects)
            .map(|suspect| async move { (suspect.name.clone(), self.pod(&suspect).await) })
            .buffer_unordered(self.limits.at_once)
            .collect()
            .await
    }

    /// GET, and LIST by name unless the GET showed the one pod that all holds belong to.
    async fn pod(&self, suspect: &Suspect<'_>) -> PodRead {
        let name = suspect.name;
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &name.namespace);
        let answer = self.read("pods", api.get(&name.name)).await;
        let get = self.typed("pods", &name.name, answer, |object| pods::pod(name, object));
        let is_own = |pod: &diff::Pod| {
            let mut uids = suspect.uids.iter();
            uids.all(|uid| uid.is_some_and(|uid| pod.is(uid)))
        };
        let list = match &get {
            Read::Blind(_) => None,
            Read::Found(_, pod) if is_own(pod) => None,
            Read::NotFound(_) | Read::Found(..) => self.list(name).await,
        };
        PodRead { get, list }
    }

    /// A list that is not whole, or shows another pod, is none.
    async fn list(&self, name: &PodName) -> Option<NameList> {
        let api: Api<PartialObjectMeta<Pod>> =
            Api::namespaced(self.client.clone(), &name.namespace);
        let by_name = ListParams::default().fields(&format!("metadata.name={}", name.name));
        let answer = self.read("pods_list", api.list(&by_name)).await;
        let (at, list) = answer.ok()?;
        let is_whole = list.metadata.continue_.as_deref().is_none_or(str::is_empty);
        let mut items = list.items.into_iter();
        let (first, more) = (items.next(), items.next());
        let uid = match first {
            None => None,
            Some(item) if item.metadata.name.as_deref() == Some(name.name.as_str()) => {
                Some(item.metadata.uid?)
            }
            Some(_) => return None,
        };
        (is_whole && more.is_none()).then_some(())?;
        Some(NameList {
            at,
            resource_version: list.metadata.resource_version.unwrap_or_default(),
            uid,
        })
    }

    /// Looks at all of these nodes and their Leases, several at a time.
    pub(crate) async fn nodes(
        &self,
        names: Vec<String>,
        memory: &mut NodeMemory,
    ) -> Vec<(String, Read<diff::Node>)> {
        self.heartbeats(names.clone(), memory).await;
        let read: Vec<(String, Read<NodeObject>)> = stream::iter(names)
            .map(|name| async move {
                let api: Api<Node> = Api::all(self.client.clone());
                let answer = self.read("nodes", api.get(&name)).await;
                let read = self.typed("nodes", &name, answer, |object| nodes::node(&name, object));
                (name, read)
            })
            .buffer_unordered(self.limits.at_once)
            .collect()
            .await;
        let mut take = |name: &str, read| match read {
            Read::Blind(why) => Read::Blind(why),
            Read::NotFound(at) => {
                memory.gone(name);
                Read::NotFound(at)
            }
            Read::Found(at, object) => Read::Found(at, memory.seen(name, object, at)),
        };
        let all = read.into_iter();
        all.map(|(name, read)| (name.clone(), take(&name, read)))
            .collect()
    }

    /// Reads the Leases of these nodes into the memory. A read that fails changes nothing there:
    /// if it lasts, it becomes a gap.
    pub(crate) async fn heartbeats(&self, names: Vec<String>, memory: &mut NodeMemory) {
        let mut reads = stream::iter(names)
            .map(|name| async move {
                let api: Api<Lease> = Api::namespaced(self.client.clone(), NODE_LEASES);
                let answer = self.read("leases", api.get(&name)).await;
                let whole = |object| Some(nodes::renewal(&name, object));
                let read = self.typed("leases", &name, answer, whole);
                (name, read, self.clock.now())
            })
            .buffer_unordered(self.limits.at_once);
        while let Some((name, read, answered_at)) = reads.next().await {
            let (sent_at, renewal): (Timestamp, Option<Renewal>) = match read {
                Read::Blind(_) => continue,
                Read::NotFound(at) => (at, None),
                Read::Found(at, renewal) => (at, renewal),
            };
            memory.heard(&name, renewal, sent_at, answered_at);
        }
    }

    /// One read: its turn, its time, its time-out, its count.
    async fn read<T>(
        &self,
        resource: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<(Timestamp, T), Failed> {
        self.pace.turn().await;
        let at = self.clock.now();
        let answer = tokio::time::timeout(self.limits.timeout, request).await;
        let result = match answer {
            Ok(Ok(object)) => Ok((at, object)),
            Ok(Err(error)) => Err(Failed {
                at,
                blind: failure::blind(&error),
                text: failure::text(&error),
                error: Some(error),
            }),
            Err(_) => Err(Failed {
                at,
                blind: Blind::TimedOut,
                text: format!("no answer within {} s", self.limits.timeout.as_secs_f64()),
                error: None,
            }),
        };
        let outcome = match &result {
            Ok(_) => "found",
            Err(failed) if failed.says_not_found() => "not_found",
            Err(failed) => failure::word(failed.blind),
        };
        let labels = ReadLabels { resource, outcome };
        self.metrics.direct_reads.get_or_create(&labels).inc();
        result
    }

    /// What a read says about the object of this name.
    fn typed<T, U>(
        &self,
        resource: &'static str,
        name: &str,
        answer: Result<(Timestamp, T), Failed>,
        whole: impl FnOnce(T) -> Option<U>,
    ) -> Read<U> {
        let failed = match answer {
            Ok((at, object)) => {
                let object = whole(object);
                return object.map_or(Read::Blind(Blind::Unreadable), |it| Read::Found(at, it));
            }
            Err(failed) => failed,
        };
        let error = failed.error.as_ref();
        if error.is_some_and(|error| failure::is_not_found(error, resource, name)) {
            return Read::NotFound(failed.at);
        }
        tracing::debug!(resource, name, reason = failed.text, "a read failed");
        Read::Blind(failed.blind)
    }
}

/// A read that gave no object.
struct Failed {
    at: Timestamp,
    blind: Blind,
    text: String,
    error: Option<kube::Error>,
}

impl Failed {
    fn says_not_found(&self) -> bool {
        matches!(&self.error, Some(kube::Error::Api(status)) if status.reason == "NotFound")
    }
}
