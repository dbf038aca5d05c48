//! Reads a call: environment, standard input, flat file, `CNI_ARGS`. Each part refuses what
//! cannot be meant with one error that names the key and the value, and touches nothing.

mod address_text;
mod arguments;
mod block;
mod definition;
mod dns;
mod field;
mod fixed;
mod flat_file;
mod json;
mod keys;
mod lenient;
mod network;
mod node;
mod period;
mod previous;
mod range;
mod requested;
mod route;
mod settings;
mod variables;

pub(crate) use arguments::Arguments;
pub(crate) use block::Block;
pub(crate) use definition::{Definition, PlainKeys, WhenExhausted};
pub(crate) use field::Field;
pub(crate) use flat_file::FlatFile;
pub(crate) use network::{Network, read_stdin, version_for_errors};
pub(crate) use previous::previous_addresses;
pub(crate) use settings::{Settings, Wrong, addresses, api_and_token, queue};
pub(crate) use variables::{Variables, Verb};

/// How strictly a definition is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `type: ipledger`: what cannot be meant is refused.
    Strict,
    /// `type: whereabouts`: whatever whereabouts accepts is served, with a warning where it
    /// cannot be meant, so that no working pod fails at its next restart.
    Lenient,
}

/// Reads one environment variable; an empty one counts as missing, as it does in Go.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;
