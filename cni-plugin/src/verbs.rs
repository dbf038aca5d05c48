//! The commands of the protocol, one file each.

mod add;
mod check;
mod del;
mod gc;
mod prepared;
mod status;
mod version;

use std::ffi::OsString;
use std::io::{self, Write};

use ipledger_client::blocking::io_error_text;
use ipledger_client::types::{AllocateRequest, OrderToken};
pub(crate) use prepared::{USER_AGENT, read_token, recorded_client};

use crate::error::{CniError, Code};
use crate::input::{Lookup, Variables, Verb, read_stdin, version_for_errors};
use crate::log::Log;
use crate::{Call, CniVersion, Host};

/// What every verb sees.
struct Session<'a> {
    variables: Variables,
    lookup: Lookup<'a>,
    host: &'a Host,
    log: &'a Log<'a>,
    /// Where this call stands among the calls of this node.
    token: Option<OrderToken>,
}

/// What a verb that succeeded prints, and what to do if nobody can read it.
struct Done<'a> {
    output: String,
    undo: Option<Box<dyn FnOnce() + 'a>>,
}

impl Done<'_> {
    /// A success that prints nothing.
    fn silently() -> Self {
        Self {
            output: String::new(),
            undo: None,
        }
    }
}

/// Runs the command that `CNI_COMMAND` names.
pub(crate) fn run(call: Call<'_>) -> u8 {
    let Call {
        variable,
        stdin,
        stdout,
        stderr,
        host,
        ..
    } = call;
    // The order of the calls of a node is the order in which they began.
    let token = host.order_token();
    let lookup = |name: &str| lookup(variable, name);
    let log = Log::new(stderr);
    let variables = match Variables::read(&lookup) {
        Ok(variables) => variables,
        Err(error) => return fail(&error, CniVersion::LATEST, stdout, &log),
    };
    log.about(
        variables.verb.as_str(),
        &variables.container_id,
        &variables.ifname,
    );
    // VERSION reads no configuration, as in the reference skeleton.
    let stdin = if variables.verb == Verb::Version {
        Ok(Vec::new())
    } else {
        read_stdin(stdin)
    };
    let stdin = match stdin {
        Ok(stdin) => stdin,
        Err(error) => return fail(&error, CniVersion::LATEST, stdout, &log),
    };
    let session = Session {
        variables,
        lookup: &lookup,
        host,
        log: &log,
        token,
    };
    match perform(&session, &stdin) {
        Ok(done) => succeed(done, stdout, &log),
        Err(error) => fail(&error, version_for_errors(&stdin), stdout, &log),
    }
}

/// Reads a call as ADD does and says what it would ask the API for.
pub(crate) fn plan(call: Call<'_>) -> Result<Option<AllocateRequest>, CniError> {
    let Call {
        variable,
        stdin,
        stderr,
        host,
        ..
    } = call;
    let lookup = |name: &str| lookup(variable, name);
    let log = Log::new(stderr);
    let session = Session {
        variables: Variables::read(&lookup)?,
        lookup: &lookup,
        host,
        log: &log,
        token: host.order_token(),
    };
    add::plan(&session, &read_stdin(stdin)?)
}

fn perform<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    match session.variables.verb {
        Verb::Add => add::run(session, stdin),
        Verb::Del => del::run(session, stdin),
        Verb::Check => check::run(session, stdin),
        Verb::Status => status::run(session, stdin),
        Verb::Gc => gc::run(session, stdin),
        Verb::Version => Ok(Done {
            output: version::output(),
            undo: None,
        }),
    }
}

/// An empty variable counts as missing, as it does in Go. What is not UTF-8 keeps a mark in
/// place of the bytes, which no rule for names lets pass.
fn lookup(variable: &dyn Fn(&str) -> Option<OsString>, name: &str) -> Option<String> {
    let value = variable(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

fn print(stdout: &mut dyn Write, text: &str) -> io::Result<()> {
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

fn succeed(done: Done<'_>, stdout: &mut dyn Write, log: &Log<'_>) -> u8 {
    let Err(error) = print(stdout, &done.output) else {
        return 0;
    };
    log.warn(CniError::new(
        Code::Io,
        format!("stdout: cannot be written: {}", io_error_text(&error)),
    ));
    // Nobody learned of the addresses, so nobody may keep them.
    done.undo.into_iter().for_each(|undo| undo());
    1
}

fn fail(error: &CniError, version: CniVersion, stdout: &mut dyn Write, log: &Log<'_>) -> u8 {
    if print(stdout, &error.render(version.as_str())).is_err() {
        log.warn(error);
    }
    1
}
