//! The faults in force.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::fault::Fault;
use super::lock;
use super::matcher::Matcher;
use super::request::SeenRequest;

#[derive(Debug, Default)]
pub(super) struct Rules(Mutex<Vec<Rule>>);

#[derive(Debug)]
struct Rule {
    matcher: Matcher,
    fault: Fault,
    /// How many more requests it is for.
    left: Option<usize>,
    /// How many it was for. The sender goes with the rule, which tells who waits for its end.
    hits: watch::Sender<usize>,
}

impl Rules {
    pub(super) fn add(
        rules: &Arc<Self>,
        matcher: Matcher,
        fault: Fault,
        left: Option<usize>,
    ) -> Injected {
        let (hits, receiver) = watch::channel(0);
        lock(&rules.0).push(Rule {
            matcher,
            fault,
            left,
            hits,
        });
        Injected {
            rules: Arc::clone(rules),
            hits: receiver,
        }
    }

    /// The fault that a request meets, and what tells when it ends.
    pub(super) fn meet(&self, request: &SeenRequest) -> Option<(Fault, watch::Receiver<usize>)> {
        let mut rules = lock(&self.0);
        let rule = rules.iter_mut().rev().find(|rule| {
            rule.left != Some(0) && rule.matcher.matches(request) && rule.fault.applies_to(request)
        })?;
        rule.left = rule.left.map(|left| left - 1);
        rule.hits.send_modify(|hits| *hits += 1);
        Some((rule.fault.clone(), rule.hits.subscribe()))
    }

    fn remove(&self, hits: &watch::Receiver<usize>) {
        lock(&self.0).retain(|rule| !rule.hits.subscribe().same_channel(hits));
    }
}

/// A fault in force; it ends when this is dropped.
#[derive(Debug)]
pub struct Injected {
    rules: Arc<Rules>,
    hits: watch::Receiver<usize>,
}

impl Injected {
    /// How many requests met it.
    #[must_use]
    pub fn hits(&self) -> usize {
        *self.hits.borrow()
    }

    /// Waits until so many requests met it.
    pub async fn was_hit(&mut self, times: usize) {
        // The sender is there as long as this is.
        let _ = self.hits.wait_for(|hits| *hits >= times).await;
    }
}

impl Drop for Injected {
    fn drop(&mut self) {
        self.rules.remove(&self.hits);
    }
}
