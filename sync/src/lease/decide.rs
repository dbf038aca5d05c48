//! What to do about the Lease: pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};

use crate::kube_time::micro_time;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It is ours: renew it.
    Renew,
    /// It is free: take it.
    Take,
    /// Another one holds it.
    Wait,
}

/// The last change of the Lease, timed by this process: the writer's clock may be wrong.
#[derive(Debug, Default)]
pub(super) struct Memory {
    seen: Option<(LeaseSpec, Timestamp)>,
}

impl Memory {
    /// Judges what was read at `now`.
    pub(super) fn decide(&mut self, lease: Option<&Lease>, me: &str, now: Timestamp) -> Step {
        let Some(lease) = lease else {
            return Step::Take;
        };
        self.note(lease, now);
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder == me {
            return Step::Renew;
        }
        let seconds = spec.lease_duration_seconds.unwrap_or(0).max(1);
        let silence = SignedDuration::from_secs(seconds.into());
        let since = self.seen.as_ref().map_or(now, |(_, since)| *since);
        if holder.is_empty() || now.duration_since(since) > silence {
            Step::Take
        } else {
            Step::Wait
        }
    }

    /// Remembers when it last changed.
    pub(super) fn note(&mut self, lease: &Lease, now: Timestamp) {
        let spec = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(seen, _)| *seen != spec) {
            self.seen = Some((spec, now));
        }
    }
}

/// Writes the holder into the spec.
pub(super) fn write(
    spec: &mut LeaseSpec,
    me: &str,
    duration: Duration,
    now: Timestamp,
    taken: bool,
) {
    let seconds = i32::try_from(duration.as_secs()).unwrap_or(i32::MAX);
    if spec.holder_identity.as_deref() != Some(me) {
        spec.acquire_time = Some(micro_time(now));
    }
    if taken {
        spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
    }
    spec.holder_identity = Some(me.to_owned());
    spec.lease_duration_seconds = Some(seconds.max(1));
    spec.renew_time = Some(micro_time(now));
}
