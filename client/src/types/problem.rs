use serde::{Deserialize, Serialize};

/// An RFC 9457 problem body (`application/problem+json`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// `urn:ipledger:problem:<code>`.
    #[serde(rename = "type")]
    pub problem_type: String,
    /// A short text that is the same for every problem of this code.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What is wrong here, in one sentence that names the key and the value.
    pub detail: String,
    /// The stable code.
    pub code: ProblemCode,
    /// Whether the same request may succeed later without anybody changing it.
    pub retryable: bool,
    /// The key at fault, as the caller wrote it (`ranges[0].range_start`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The value at fault, as text, cut to 200 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Who has the address, when that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    /// The id of the request, as in the log.
    pub request_id: String,
}

/// Who holds an address, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Holder {
    /// The address.
    pub address: String,
    /// The hold's step.
    pub step: u32,
    /// Name of the cluster.
    pub cluster: String,
    /// `namespace/name` of the pod, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// UID of the pod, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Name of the node, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The sandbox.
    pub container_id: String,
    /// The interface.
    pub ifname: String,
    /// Since when, as the ledger recorded it.
    pub since: String,
}

macro_rules! codes {
    ($($variant:ident $text:literal $status:literal $retryable:literal $title:literal,)*) => {
        /// Stable codes of problems, from the most to the least general. New ones may be added.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum ProblemCode {
            $(#[doc = $title] $variant,)*
            /// A code that this version does not know.
            #[serde(other)]
            Unknown,
        }

        impl ProblemCode {
            /// Every code that the API may answer with.
            pub const ALL: &'static [ProblemCode] = &[$(ProblemCode::$variant,)*];

            /// The word on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(ProblemCode::$variant => $text,)* ProblemCode::Unknown => "unknown" }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(ProblemCode::$variant => $status,)* ProblemCode::Unknown => 500 }
            }

            /// Whether the same request may succeed later without anybody changing it.
            #[must_use]
            pub fn is_retryable(self) -> bool {
                match self { $(ProblemCode::$variant => $retryable,)* ProblemCode::Unknown => false }
            }

            /// The title that goes with it.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(ProblemCode::$variant => $title,)* ProblemCode::Unknown => "Unknown problem" }
            }
        }
    };
}

codes! {
    InvalidRequest "invalid_request" 400 false "The request cannot be meant",
    NotFound "not_found" 404 false "There is no such thing",
    MethodNotAllowed "method_not_allowed" 405 false "The route does not take this method",
    UnsupportedMediaType "unsupported_media_type" 415 false "The body must be application/json",
    BodyTooLarge "body_too_large" 413 false "The body is too large",
    DeadlinePassed "deadline_passed" 503 true "The caller's deadline passed before the decision",
    ClusterMismatch "cluster_mismatch" 409 false "The cluster's name is bound to another cluster",
    Stale "stale" 409 false "A later call for this pod and interface was applied before",
    Deleted "deleted" 409 false "This attachment was deleted already",
    Gated "gated" 503 true "The cluster's gate is closed",
    AttachmentConflict "attachment_conflict" 409 false "The attachment holds addresses of another request",
    SpaceConflict "space_conflict" 409 false "The range belongs to another space",
    AddressOutsideWindow "address_outside_window" 422 false "The requested address may not be handed out",
    AddressTaken "address_taken" 409 true "The requested address is held",
    AddressReserved "address_reserved" 409 false "The address is set aside by hand",
    AddressKept "address_kept" 409 true "The requested address is kept for another pod",
    AddressCooling "address_cooling" 409 true "The requested address is resting after its release",
    Exhausted "exhausted" 507 true "No address is free",
    Kept "kept" 507 true "Every free address is kept for another pod or resting",
    Cooling "cooling" 507 true "Every free address is resting after its release",
    StepMismatch "step_mismatch" 409 false "The address is not at this step",
    Overloaded "overloaded" 503 true "Too many requests are waiting",
    OutcomeUnknown "outcome_unknown" 503 true "It is not known whether the request was applied",
    DatabaseUnavailable "database_unavailable" 503 true "The database cannot be reached",
    ShuttingDown "shutting_down" 503 true "The service is stopping",
    Internal "internal" 500 false "The service failed",
}
