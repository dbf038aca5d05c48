//! Events: what is recorded, and how it becomes bytes and hashes.

pub mod encoding;
mod payload;

pub use payload::{Decision, DecisionRule, Ended, Kind, Payload, WindowRecord};
