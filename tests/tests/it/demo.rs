//! The demo as `sudo` runs it: without the caller's PATH.

use std::process::Command;

use e2e::binaries;

#[test]
fn the_demo_needs_no_cargo() {
    // Beside the demo, as `make demo` leaves them.
    let directory = binaries::directory().expect("the binaries");
    let demo = env!("CARGO_BIN_EXE_demo");
    assert_eq!(std::path::Path::new(demo).parent(), Some(directory));
    let run = Command::new(demo)
        .env_clear()
        .env("PATH", "")
        .output()
        .expect("the demo runs");
    let shown = String::from_utf8_lossy(&run.stdout);
    let errors = String::from_utf8_lossy(&run.stderr);
    // It goes on until it needs `ip`, which it cannot have here.
    assert!(shown.contains("ipledger-api answers on"), "{shown}{errors}");
    assert!(
        !run.status.success() && errors.contains("iproute2"),
        "{errors}"
    );
    assert!(!errors.contains("cargo build"), "{errors}");
}
