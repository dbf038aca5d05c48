//! The protocol of CNI, line by line of its checklist (a test's name begins with the line it
//! belongs to), and everything that can go wrong around it. Most tests run the real binary.

#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]
#![expect(
    clippy::needless_pass_by_value,
    reason = "json!() reads best where it is used"
)]

mod add;
mod api;
mod bad_input;
mod check;
mod commands;
mod del;
mod errors;
mod fixed_addresses;
mod flat_file;
mod gc;
mod install;
mod lenient_model;
mod never_panics;
mod plugin;
mod process;
mod queue;
mod results;
mod status;
mod version;
mod whereabouts;
