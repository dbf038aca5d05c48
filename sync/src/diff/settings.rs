use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// What an operator may set; stored with every evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How long a pod must have been absent, and how long its node must have been heard without
    /// a gap after that. Longer than a node takes to stop a deleted pod.
    pub grace_seconds: u32,
    /// After this long without contact a node's containers count as gone; `None` is `never`.
    pub unreachable_node_timeout_seconds: Option<u32>,
    /// Whether a pod that is past its own grace to terminate counts as gone while its node
    /// carries the out-of-service taint.
    pub free_terminating_on_out_of_service: bool,
    /// How far the clocks of the database and the API server may differ. Only a hold without
    /// pod UID compares the two.
    pub clock_difference_seconds: u32,
    /// The share of a cluster's holds, in percent, from which a pass waits for a second look.
    pub unusual_share_percent: u32,
    /// A share of fewer holds than this is never unusual.
    pub unusual_share_from_holds: usize,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            grace_seconds: 45,
            // After Kubernetes' own forced detach of volumes.
            unreachable_node_timeout_seconds: Some(360),
            free_terminating_on_out_of_service: false,
            clock_difference_seconds: 60,
            unusual_share_percent: 25,
            unusual_share_from_holds: 10,
        }
    }
}

/// `seconds` after `time`, or the end of time.
pub(super) fn after(time: Timestamp, seconds: u32) -> Timestamp {
    let seconds = SignedDuration::from_secs(i64::from(seconds));
    time.checked_add(seconds).unwrap_or(Timestamp::MAX)
}
