//! What is odd about the objects that were read.

use serde::Serialize;

/// Something that does not fit, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// The object, as `<kind> <namespace>/<name>`.
    pub object: String,
    /// Key of the entry, for an entry of a pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The address, as far as it could be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The pod, as `namespace/name`, if one is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub podref: Option<String>,
    /// In a sentence.
    pub detail: String,
    /// What becomes of it.
    pub outcome: Outcome,
}

/// What is wrong, in fixed words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// The object has no sense: a range that is none, a spec of a foreign shape.
    UnreadableObject,
    /// The key of an entry is no offset.
    UnreadableKey,
    /// An entry without a container id.
    UnreadableEntry,
    /// The name of a reservation is no address.
    UnreadableName,
    /// The entry lies outside its pool's range.
    OutsideRange,
    /// The key may stand for several addresses, and no reservation says for which.
    AmbiguousOffset,
    /// Entries of one pool name one pod and interface.
    DuplicatePodref,
    /// Entries of two pools of one network have one address.
    DuplicateAddress,
    /// An entry without a reservation, in a network that has them.
    EntryWithoutReservation,
    /// A reservation without an entry.
    ReservationWithoutEntry,
    /// Entry and reservation of one address name two pods.
    ReservationOfAnotherPod,
    /// The pod does not exist any more.
    PodGone,
    /// The pod exists, but does not report this address.
    PodWithoutAddress,
    /// No pod is named.
    NoPod,
}

impl FindingKind {
    /// The word, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            FindingKind::UnreadableObject => "unreadable_object",
            FindingKind::UnreadableKey => "unreadable_key",
            FindingKind::UnreadableEntry => "unreadable_entry",
            FindingKind::UnreadableName => "unreadable_name",
            FindingKind::OutsideRange => "outside_range",
            FindingKind::AmbiguousOffset => "ambiguous_offset",
            FindingKind::DuplicatePodref => "duplicate_podref",
            FindingKind::DuplicateAddress => "duplicate_address",
            FindingKind::EntryWithoutReservation => "entry_without_reservation",
            FindingKind::ReservationWithoutEntry => "reservation_without_entry",
            FindingKind::ReservationOfAnotherPod => "reservation_of_another_pod",
            FindingKind::PodGone => "pod_gone",
            FindingKind::PodWithoutAddress => "pod_without_address",
            FindingKind::NoPod => "no_pod",
        }
    }
}

/// What becomes of an entry that a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is imported all the same.
    Imported,
    /// It is left out.
    LeftOut,
}

impl Outcome {
    /// For people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Imported => "imported",
            Outcome::LeftOut => "left out",
        }
    }
}
