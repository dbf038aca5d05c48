//! What the program does for people, when no `CNI_COMMAND` is set.

mod drain;
mod help;
mod install;

use std::ffi::OsString;
use std::io::Write;

use crate::{Call, CniVersion};

/// `ipledger 0.1.0`.
const VERSION: &str = concat!("ipledger ", env!("CARGO_PKG_VERSION"));

/// Wrong usage.
const USAGE: u8 = 2;

/// Runs what the command line asks for.
pub(crate) fn run(call: Call<'_>) -> u8 {
    let arguments: Vec<String> = call.arguments.iter().skip(1).map(text).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        // As the reference skeleton does: on stderr, because stdout is the protocol's.
        [] => {
            let versions = CniVersion::ALL.map(CniVersion::as_str).join(", ");
            say(
                call.stderr,
                &format!(
                    "CNI plugin {VERSION}\nCNI protocol versions supported: {versions}\n\
                 Run \"ipledger --help\" for more."
                ),
            );
            0
        }
        ["version" | "--version" | "-V"] => print(call.stdout, VERSION),
        ["help" | "--help" | "-h"] => print(call.stdout, help::GENERAL),
        ["drain", "--help" | "-h"] | ["help", "drain"] => print(call.stdout, help::DRAIN),
        ["drain", ..] => drain::run(call, &arguments[1..]),
        ["install", "--help" | "-h"] | ["help", "install"] => print(call.stdout, help::INSTALL),
        ["install", ..] => install::run(call, &arguments[1..]),
        [unknown, ..] => {
            let message = format!("ipledger: unknown command {unknown:?}; see ipledger --help");
            say(call.stderr, &message);
            USAGE
        }
    }
}

fn text(argument: &OsString) -> String {
    argument.to_string_lossy().into_owned()
}

fn print(stdout: &mut dyn Write, text: &str) -> u8 {
    say(stdout, text);
    0
}

/// A reader that went away is no failure.
fn say(out: &mut dyn Write, text: &str) {
    let _ = writeln!(out, "{}", text.trim_end());
}
