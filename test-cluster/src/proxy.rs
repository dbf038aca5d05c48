//! A proxy before the API server that makes requests fail, by verb and object.
//!
//! It speaks TLS with the API server's own certificate and passes on whoever's token it is given,
//! so a client needs another URL and nothing else.

mod fault;
mod forward;
mod list;
mod matcher;
mod request;
mod rules;
mod serve;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::JoinHandle;

use crate::{Access, Cluster, Error};

pub use fault::Fault;
pub use matcher::Matcher;
pub use request::{SeenRequest, Verb};
pub use rules::Injected;
pub use watch::WatchBreak;

use rules::Rules;
use watch::OpenWatches;

/// Passes everything on to a cluster's API server until it is told otherwise. It ends, with all
/// connections, when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    url: String,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

/// What a command and the requests in flight share.
#[derive(Debug, Default)]
struct State {
    rules: Arc<Rules>,
    watches: OpenWatches,
    seen: Mutex<Vec<SeenRequest>>,
}

impl FaultProxy {
    /// Starts one before a cluster, on a port of its own.
    ///
    /// # Errors
    /// [`Error::Credentials`], [`Error::Io`].
    pub async fn start(cluster: &Cluster) -> Result<Self, Error> {
        let state = Arc::new(State::default());
        let (port, accepting) = serve::start(cluster, Arc::clone(&state)).await?;
        Ok(Self {
            url: format!("https://127.0.0.1:{port}"),
            state,
            accepting,
        })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same user through the proxy.
    #[must_use]
    pub fn access(&self, access: &Access) -> Access {
        access.at(self.url.clone())
    }

    /// From now on, requests that match meet the fault, until what is returned is dropped. Of
    /// several that match, the one that was injected last counts.
    #[must_use = "the fault ends when this is dropped"]
    pub fn inject(&self, matcher: Matcher, fault: Fault) -> Injected {
        Rules::add(&self.state.rules, matcher, fault, None)
    }

    /// As [`Self::inject`], for the next `times` requests only.
    #[must_use = "the fault ends when this is dropped"]
    pub fn inject_times(&self, matcher: Matcher, fault: Fault, times: usize) -> Injected {
        Rules::add(&self.state.rules, matcher, fault, Some(times))
    }

    /// How many watches that match are open.
    #[must_use]
    pub fn open_watches(&self, matcher: &Matcher) -> usize {
        self.state.watches.count(matcher)
    }

    /// Breaks every open watch that matches; returns how many. New ones are served.
    pub fn break_watches(&self, matcher: &Matcher, how: WatchBreak) -> usize {
        self.state.watches.break_matching(matcher, how)
    }

    /// The requests so far that match, in the order of their arrival.
    #[must_use]
    pub fn seen(&self, matcher: &Matcher) -> Vec<SeenRequest> {
        let seen = lock(&self.state.seen);
        let matching = seen.iter().filter(|request| matcher.matches(request));
        matching.cloned().collect()
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        // The connections are tasks of this one.
        self.accepting.abort();
        self.state
            .watches
            .break_matching(&Matcher::new(), WatchBreak::Cut);
    }
}

/// Nothing here leaves a value half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
