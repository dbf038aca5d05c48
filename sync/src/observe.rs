//! What a cluster shows. Watches say what to look at (`watch`, [`PodIndex`]); only direct reads
//! ([`DirectReader`]) are evidence.

mod definitions;
mod failure;
mod index;
mod nodes;
mod pace;
mod pods;
mod reads;
mod watch;

pub use definitions::{Definition, Fault, inspect};
pub(crate) use failure::text as failure_text;
pub use failure::word as blind_word;
pub use index::{PodIndex, Shown};
pub use nodes::NodeMemory;
pub(crate) use reads::Suspect;
pub use reads::{DirectReader, ReadLimits};
pub use watch::{Health, Watches};
