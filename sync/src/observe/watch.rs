//! Watches: they keep the index, and say that something happened. They are never evidence.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::StreamExt as _;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, PartialObjectMeta};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Config, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::definitions::Warned;
use super::failure;
use super::index::{PodIndex, PodWatch};
use crate::metrics::{Metrics, WatchLabels};

/// After this long a watch is opened anew, so one that hangs is noticed soon after.
const WATCH_SECONDS: u32 = 60;
/// A list is read in pages of this many objects.
const PAGE: u32 = 500;

/// What is shared with the watches.
#[derive(Clone)]
struct Shared {
    client: Client,
    index: Arc<PodIndex>,
    changed: Arc<Notify>,
    health: Health,
    metrics: Metrics,
}

/// How the watches are.
#[derive(Debug, Clone, Default)]
pub struct Health {
    states: Arc<Mutex<BTreeMap<&'static str, State>>>,
    listed: Arc<watch::Sender<bool>>,
}

#[derive(Debug, Default)]
struct State {
    /// The first list was read to its end.
    listed: bool,
    /// The last error, until something else comes.
    error: Option<String>,
}

/// The watches that tell which pods there are.
const NEEDED: [&str; 2] = ["pods", "ended_pods"];

impl Health {
    /// Waits until the pods were listed once.
    pub async fn listed(&self) {
        // The sender lives as long as `self`.
        let _ = self.listed.subscribe().wait_for(|listed| *listed).await;
    }

    /// Whether the pods were listed once.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        *self.listed.borrow()
    }

    /// The last error of a watch of pods that nothing followed yet.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        NEEDED
            .iter()
            .find_map(|name| states.get(name)?.error.clone())
    }

    fn good(&self, name: &'static str, listed: bool) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(name).or_default();
        state.error = None;
        state.listed |= listed;
        let is_listed = |name| states.get(name).is_some_and(|state| state.listed);
        if listed && NEEDED.iter().all(is_listed) {
            self.listed.send_replace(true);
        }
    }

    /// Whether this error was not known yet.
    fn bad(&self, name: &'static str, error: &str) -> bool {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let state = states.entry(name).or_default();
        let is_new = state.error.as_deref() != Some(error);
        state.error = Some(error.to_owned());
        is_new
    }
}

/// Watches that run until this is dropped.
pub struct Watches {
    _tasks: JoinSet<()>,
    /// What is known of pods.
    pub index: Arc<PodIndex>,
    /// Something happened that is worth a pass.
    pub changed: Arc<Notify>,
    /// How they are.
    pub health: Health,
}

impl Watches {
    /// Watches pods (metadata only, since their spec and status are read directly), nodes, and
    /// network definitions.
    #[must_use]
    pub fn start(client: Client, metrics: Metrics) -> Self {
        let shared = Shared {
            client,
            index: Arc::default(),
            changed: Arc::default(),
            health: Health::default(),
            metrics,
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(shared.clone().pods("pods", PodWatch::All));
        tasks.spawn(shared.clone().pods("ended_pods", PodWatch::Ended));
        tasks.spawn(shared.clone().nodes());
        tasks.spawn(shared.clone().definitions());
        Self {
            _tasks: tasks,
            index: shared.index,
            changed: shared.changed,
            health: shared.health,
        }
    }
}

impl Shared {
    async fn pods(self, name: &'static str, which: PodWatch) {
        let api: Api<PartialObjectMeta<Pod>> = Api::all(self.client.clone());
        let config = match which {
            PodWatch::All => config(),
            PodWatch::Ended => {
                config().fields("status.phase!=Pending,status.phase!=Running,status.phase!=Unknown")
            }
        };
        self.follow(name, api, config, |event| {
            if self.index.apply(which, event) {
                self.changed.notify_one();
            }
        })
        .await;
    }

    /// Nodes go, come back under another UID, get taints: all of them rare.
    async fn nodes(self) {
        let api: Api<Node> = Api::all(self.client.clone());
        let mut known: BTreeMap<String, NodeBrief> = BTreeMap::new();
        self.follow("nodes", api, config(), |event| {
            let is_news = match event {
                Event::Apply(node) | Event::InitApply(node) => {
                    let name = node.metadata.name.clone().unwrap_or_default();
                    let brief = NodeBrief::of(node);
                    known.insert(name, brief.clone()) != Some(brief)
                }
                Event::Delete(node) => {
                    known.remove(&node.metadata.name.unwrap_or_default());
                    true
                }
                Event::Init | Event::InitDone => false,
            };
            if is_news {
                self.changed.notify_one();
            }
        })
        .await;
    }

    async fn definitions(self) {
        let kind = GroupVersionKind::gvk("k8s.cni.cncf.io", "v1", "NetworkAttachmentDefinition");
        let resource = ApiResource::from_gvk_with_plural(&kind, "network-attachment-definitions");
        // Without a type, so that one of a foreign shape does not hide the others.
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let mut warned = Warned::default();
        let mut stream = watcher(api, config()).default_backoff().boxed();
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    self.health.good("definitions", false);
                    tell(&mut warned, &event);
                    let count = i64::try_from(warned.count()).unwrap_or(i64::MAX);
                    self.metrics.unusable_definitions.set(count);
                }
                Err(error) => self.failed("definitions", &error),
            }
        }
    }

    /// Hands events on; an error is told once, and what follows is a new try after a while.
    async fn follow<K>(
        &self,
        name: &'static str,
        api: Api<K>,
        config: Config,
        mut take: impl FnMut(Event<K>),
    ) where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    {
        let mut stream = watcher(api, config).default_backoff().boxed();
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    let listed = matches!(event, Event::InitDone);
                    take(event);
                    self.health.good(name, listed);
                }
                Err(error) => self.failed(name, &error),
            }
        }
    }

    fn failed(&self, name: &'static str, error: &watcher::Error) {
        let labels = WatchLabels { watch: name };
        self.metrics.watch_errors.get_or_create(&labels).inc();
        let text = watch_error(error);
        if self.health.bad(name, &text) {
            tracing::warn!(
                watch = name,
                error = text,
                "a watch failed; it is tried again"
            );
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NodeBrief {
    uid: Option<String>,
    taints: Vec<String>,
    ready: Option<String>,
}

impl NodeBrief {
    fn of(node: Node) -> Self {
        let conditions = node.status.and_then(|status| status.conditions);
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let taints = node.spec.and_then(|spec| spec.taints).unwrap_or_default();
        Self {
            uid: node.metadata.uid,
            taints: taints.into_iter().map(|taint| taint.key).collect(),
            ready: conditions
                .find(|condition| condition.type_ == "Ready")
                .map(|condition| condition.status),
        }
    }
}

fn tell(warned: &mut Warned, event: &Event<DynamicObject>) {
    match event {
        Event::Apply(object) | Event::InitApply(object) => {
            if let Some((name, fault)) = warned.look(object) {
                tracing::warn!(definition = name, %fault, "a network definition is skipped");
            }
        }
        Event::Delete(object) => warned.forget(object),
        Event::Init | Event::InitDone => {}
    }
}

fn config() -> Config {
    Config::default().page_size(PAGE).timeout(WATCH_SECONDS)
}

fn watch_error(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => failure::text(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        watcher::Error::NoResourceVersion => error.to_string(),
    }
}
