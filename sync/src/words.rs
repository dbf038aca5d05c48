//! The fixed words of judgements, as metrics, logs and tables show them.

use crate::diff::{KeepReason, PodGone, WaitReason};

/// Why a hold stays, as far as it is worth a gauge.
pub(crate) const KEPT: [&str; 10] = [
    "shown_twice",
    "no_owner",
    "pod_unseen",
    "not_listed",
    "list_disagrees",
    "may_be_its_pod",
    "containers_not_terminated",
    "node_unknown",
    "node_unseen",
    "containers_may_run",
];

pub(crate) fn kept(reason: KeepReason) -> &'static str {
    match reason {
        KeepReason::OtherCluster => "other_cluster",
        KeepReason::ShownTwice => "shown_twice",
        KeepReason::NoOwner => "no_owner",
        KeepReason::PodUnseen(_) => "pod_unseen",
        KeepReason::NotListed => "not_listed",
        KeepReason::ListDisagrees => "list_disagrees",
        KeepReason::PodLives => "pod_lives",
        KeepReason::MayBeItsPod => "may_be_its_pod",
        KeepReason::ContainersNotTerminated => "containers_not_terminated",
        KeepReason::NodeUnknown => "node_unknown",
        KeepReason::NodeUnseen(_) => "node_unseen",
        KeepReason::ContainersMayRun => "containers_may_run",
    }
}

/// What holds wait for.
pub(crate) const WAITING: [&str; 3] = ["grace", "node_timeout", "second_look"];

pub(crate) fn waiting(reason: WaitReason) -> &'static str {
    match reason {
        WaitReason::Grace => "grace",
        WaitReason::NodeTimeout => "node_timeout",
        WaitReason::SecondLook => "second_look",
    }
}

/// How a pod is gone.
pub(crate) fn gone(how: PodGone) -> &'static str {
    match how {
        PodGone::NotFound => "not_found",
        PodGone::AnotherUid => "another_uid",
        PodGone::CreatedAfterHold => "created_after_hold",
        PodGone::Finished => "finished",
        PodGone::TerminatingOnOutOfService => "terminating_on_out_of_service",
    }
}

/// How its containers are known to be gone.
pub(crate) fn proof(proof: crate::diff::ContainersGone) -> &'static str {
    use crate::diff::ContainersGone;
    match proof {
        ContainersGone::Terminated => "terminated",
        ContainersGone::NodeHeartbeat => "node_heartbeat",
        ContainersGone::NodeDeleted => "node_deleted",
        ContainersGone::NodeReplaced => "node_replaced",
        ContainersGone::NodeOutOfService => "node_out_of_service",
        ContainersGone::NodeUnreachable => "node_unreachable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::{Blind, ContainersGone};

    /// What the value is written as in evidence.
    fn written(value: impl serde::Serialize) -> String {
        match serde_json::to_value(value).unwrap() {
            serde_json::Value::Object(map) => map.keys().next().unwrap().clone(),
            other => other.as_str().unwrap().to_owned(),
        }
    }

    #[test]
    fn words_are_what_evidence_says() {
        for how in [PodGone::NotFound, PodGone::TerminatingOnOutOfService] {
            assert_eq!(written(how), gone(how));
        }
        for how in [
            ContainersGone::NodeHeartbeat,
            ContainersGone::NodeOutOfService,
        ] {
            assert_eq!(written(how), proof(how));
        }
        let timeout = WaitReason::NodeTimeout;
        assert_eq!(written(timeout), waiting(timeout));
        let unseen = KeepReason::PodUnseen(Blind::TimedOut);
        assert_eq!(written(unseen), kept(unseen));
    }
}
