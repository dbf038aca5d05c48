//! End to end: the real parts together. One binary, so that it is linked once.

mod demo;
mod docker;
mod limits;
mod outage;
mod scenario;

use std::io::Write as _;

/// One line, past the capture of the test's output: the test passes, so that is never shown.
fn say_not_run(test: &str, reason: &str) {
    writeln!(std::io::stderr(), "NOT RUN: {test}: {reason}").expect("standard error");
}
