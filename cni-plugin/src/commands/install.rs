use std::path::{Path, PathBuf};

use ipledger_client::blocking::io_error_text;

use super::{USAGE, say};
use crate::Call;
use crate::install::{Installed, install};

/// Where runtimes look for plugins.
const DEFAULT_DIRECTORY: &str = "/opt/cni/bin";
/// The name that definitions of this project ask for.
const OWN: &str = "ipledger";
/// The name that existing definitions ask for.
const INCUMBENT: &str = "whereabouts";

/// The command line.
#[derive(Debug)]
struct Options {
    directory: PathBuf,
    as_whereabouts: bool,
}

pub(super) fn run(call: Call<'_>, arguments: &[&str]) -> u8 {
    let Call {
        stdout,
        stderr,
        host,
        ..
    } = call;
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => {
            let line = format!("ipledger install: {message}; see ipledger install --help");
            say(stderr, &line);
            return USAGE;
        }
    };
    // The running program, also if its name has another file by now.
    let program = match std::fs::read("/proc/self/exe") {
        Ok(program) => program,
        Err(error) => {
            let reason = io_error_text(&error);
            say(
                stderr,
                &format!("ipledger install: /proc/self/exe: cannot be read: {reason}"),
            );
            return 1;
        }
    };
    let names = [OWN, INCUMBENT];
    let wanted = if options.as_whereabouts {
        &names[..]
    } else {
        &names[..1]
    };
    for name in wanted {
        let shown = options.directory.join(name);
        let shown = shown.display();
        match install(&host.path(&options.directory), name, &program) {
            Ok(Installed::Written) => say(stdout, &format!("installed {shown}")),
            Ok(Installed::UpToDate) => say(stdout, &format!("{shown} is up to date")),
            Err(error) => {
                say(stderr, &format!("ipledger install: {error}"));
                return 1;
            }
        }
    }
    0
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self {
            directory: PathBuf::from(DEFAULT_DIRECTORY),
            as_whereabouts: false,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*argument, None),
            };
            match (name, value) {
                ("--as-whereabouts", None) => options.as_whereabouts = true,
                ("--dir", _) => {
                    let value = value
                        .or_else(|| rest.next().copied())
                        .filter(|value| !value.is_empty());
                    let value = value.ok_or("--dir needs a value")?;
                    if !Path::new(value).is_absolute() {
                        return Err(format!("--dir: {value:?} is not an absolute path"));
                    }
                    options.directory = PathBuf::from(value);
                }
                _ => return Err(format!("unknown option {argument:?}")),
            }
        }
        Ok(options)
    }
}
