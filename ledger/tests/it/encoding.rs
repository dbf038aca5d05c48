//! The bytes and hashes of `docs/event-encoding.md`, computed three times: by this crate, by the
//! database, and by a program that knows nothing but the document.

mod canonical;
mod document;
mod program;
mod recorded;
mod story;
mod vectors;
