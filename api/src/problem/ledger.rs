//! From what the ledger says to what the caller is told, without asking anything more.

use address::Window;
use ipledger_client::types::ProblemCode;
use jiff::Timestamp;
use ledger::{Error, Refusal};

use super::Failure;

/// How the fields of a refusal are called in the request at hand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    /// The address that was asked for.
    pub(crate) address: &'static str,
    /// The cluster's UID.
    pub(crate) cluster_uid: &'static str,
}

impl Default for Keys {
    fn default() -> Self {
        Self {
            address: "address",
            cluster_uid: "cluster_uid",
        }
    }
}

/// Seconds after which a full window is worth another look.
const FULL_RETRY_SECONDS: u64 = 5;
/// Seconds after which a database that was lost may be back.
const UNAVAILABLE_RETRY_SECONDS: u64 = 2;

impl Failure {
    /// The failure for an error of the ledger.
    pub(crate) fn from_ledger(error: Error, keys: Keys, now: Timestamp) -> Self {
        let text = error.to_string();
        match error {
            Error::Refused(refusal) => refused(&refusal, keys, now),
            Error::Overloaded { .. } => Self::new(ProblemCode::Overloaded, text),
            Error::DeadlinePassed => Self::new(ProblemCode::DeadlinePassed, text),
            Error::OutcomeUnknown { reason } => Self::new(
                ProblemCode::OutcomeUnknown,
                "it is not known whether the request was applied; send the same request again",
            )
            .caused_by(reason),
            Error::Unavailable { reason } => Self::new(
                ProblemCode::DatabaseUnavailable,
                "the database cannot be reached; nothing was changed",
            )
            .retry_after(UNAVAILABLE_RETRY_SECONDS)
            .caused_by(reason),
            Error::ShuttingDown => Self::new(ProblemCode::ShuttingDown, text),
            Error::Inconsistent { .. } | Error::Guard(_) | Error::Database(_) => {
                Self::internal(text)
            }
        }
    }

    /// A failure of the service itself; the caller gets the id, the log the cause.
    pub(crate) fn internal(cause: impl Into<String>) -> Self {
        Self::new(
            ProblemCode::Internal,
            "the service failed; its log has the cause under the request_id",
        )
        .caused_by(cause)
    }
}

fn refused(refusal: &Refusal, keys: Keys, now: Timestamp) -> Failure {
    let failure = |code| Failure::new(code, refusal.to_string());
    match refusal {
        Refusal::Invalid {
            key,
            value,
            problem,
        } => Failure::invalid(key, value, problem),
        Refusal::NoSuchSpace(space) => Failure::no_such_space(space),
        Refusal::NoSuchCluster(cluster) => {
            let detail = format!("cluster {cluster:?} was never bound and has no space");
            Failure::new(ProblemCode::NotFound, detail).about("cluster", cluster)
        }
        Refusal::Gated { cluster, .. } => failure(ProblemCode::Gated)
            .about("cluster", cluster)
            .retry_after(FULL_RETRY_SECONDS),
        Refusal::ClusterMismatch { given, .. } => {
            failure(ProblemCode::ClusterMismatch).about(keys.cluster_uid, given)
        }
        Refusal::Stale { ifname } => failure(ProblemCode::Stale).about("token", ifname),
        Refusal::Deleted {
            container_id,
            ifname,
        } => failure(ProblemCode::Deleted).about("attachment", &format!("{container_id} {ifname}")),
        Refusal::AttachmentConflict { key, hold } => {
            failure(ProblemCode::AttachmentConflict).about(key, &hold.ip.to_string())
        }
        Refusal::SpaceConflict { .. } => {
            failure(ProblemCode::SpaceConflict).about("enable_overlapping_ranges", "true")
        }
        Refusal::MemberTaken {
            cluster,
            network_name,
            ..
        } => {
            let member = ledger::model::space_name(cluster, network_name, None);
            failure(ProblemCode::SpaceConflict).about("members", &member)
        }
        Refusal::AddressOutsideWindow { ip } => {
            failure(ProblemCode::AddressOutsideWindow).about(keys.address, &ip.to_string())
        }
        Refusal::AddressTaken { ip, hold } => {
            let detail = format!("{} {:?} is held ({hold})", keys.address, ip.to_string());
            Failure::new(ProblemCode::AddressTaken, detail)
                .about(keys.address, &ip.to_string())
                .retry_after(FULL_RETRY_SECONDS)
        }
        Refusal::AddressReserved { ip, hold } => {
            let detail = format!("{} {:?} is reserved ({hold})", keys.address, ip.to_string());
            Failure::new(ProblemCode::AddressReserved, detail).about(keys.address, &ip.to_string())
        }
        Refusal::AddressKept { ip, until, .. } => {
            let (ip, until_text) = (ip.to_string(), crate::wire::time(*until));
            let key = keys.address;
            let detail = format!(
                "{key} {ip:?} is kept until {until_text} for the pod of its last holder's name"
            );
            Failure::new(ProblemCode::AddressKept, detail)
                .about(key, &ip)
                .retry_after(seconds_until(*until, now))
        }
        Refusal::AddressCooling { ip, until } => {
            let (ip, until_text) = (ip.to_string(), crate::wire::time(*until));
            let key = keys.address;
            let detail = format!("{key} {ip:?} rests after its release until {until_text}");
            Failure::new(ProblemCode::AddressCooling, detail)
                .about(key, &ip)
                .retry_after(seconds_until(*until, now))
        }
        Refusal::Exhausted {
            position, window, ..
        } => {
            full(refusal, ProblemCode::Exhausted, *position, window).retry_after(FULL_RETRY_SECONDS)
        }
        Refusal::Kept {
            position,
            window,
            until,
            ..
        } => full(refusal, ProblemCode::Kept, *position, window)
            .retry_after(seconds_until(*until, now)),
        Refusal::Cooling {
            position,
            window,
            until,
            ..
        } => full(refusal, ProblemCode::Cooling, *position, window)
            .retry_after(seconds_until(*until, now)),
        Refusal::StepMismatch { expected, .. } => {
            failure(ProblemCode::StepMismatch).about("step", &expected.to_string())
        }
    }
}

/// The range that has nothing to give, under the key that the request has for it.
fn full(refusal: &Refusal, code: ProblemCode, position: usize, window: &Window) -> Failure {
    let key = format!("ranges[{position}].range");
    Failure::new(code, format!("{key}: {refusal}")).about(key, &window.cidr().to_string())
}

impl Failure {
    /// A space that was named and does not exist.
    pub(crate) fn no_such_space(space: &str) -> Self {
        let detail = format!("space {:?} does not exist", super::shown(space));
        Self::new(ProblemCode::NotFound, detail).about("space", space)
    }
}

/// Whole seconds from now on, at least one, at most an hour: whoever waits for days should look
/// in between.
fn seconds_until(until: Timestamp, now: Timestamp) -> u64 {
    let seconds = until
        .as_second()
        .saturating_sub(now.as_second())
        .clamp(1, 3600);
    u64::try_from(seconds).unwrap_or(1)
}
