//! End to end: the real parts together. One binary, so that it is linked once.

mod bad_input;
mod demo;
mod differential;
mod docker;
mod faults;
mod limits;
mod outage;
mod plugin;
mod scenario;
mod strict_ranges;

use std::io::Write as _;

/// One line, past the capture of the test's output: the test passes, so that is never shown. Also
/// into the file of `IPLEDGER_NOT_RUN`, from which `make test` counts them.
fn say_not_run(test: &str, reason: &str) {
    let line = format!("NOT RUN: {test}: {reason}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error");
    if let Some(path) = std::env::var_os("IPLEDGER_NOT_RUN") {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .expect("the list of tests that did not run");
        file.write_all(line.as_bytes())
            .expect("the list is written");
    }
}
