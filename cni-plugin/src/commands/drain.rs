use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ipledger_client::blocking::{ApiAddress, Budget, Client, io_error_text};
use serde_json::Map;

use super::{USAGE, say};
use crate::error::{CniError, Code};
use crate::input::{Block, FlatFile, Lookup, addresses, api_and_token, queue};
use crate::log::Log;
use crate::queue::{Delivery, Outcome, Queue, QueuedRelease, Reach, Report};
use crate::verbs::{USER_AGENT, read_token, recorded_client};
use crate::{Call, Host};

/// Releases wait on.
const REMAINS: u8 = 1;
/// Releases were set aside by this run.
const SET_ASIDE: u8 = 3;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The command line.
#[derive(Default)]
struct Options {
    queue_dir: Option<String>,
    api: Option<String>,
    token_file: Option<String>,
    timeout: Option<Duration>,
}

pub(super) fn run(call: Call<'_>, arguments: &[&str]) -> u8 {
    let Call {
        variable,
        stdout,
        stderr,
        host,
        ..
    } = call;
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(message) => {
            say(
                stderr,
                &format!("ipledger drain: {message}; see ipledger drain --help"),
            );
            return USAGE;
        }
    };
    let lookup = |name: &str| {
        let value = variable(name)?.to_string_lossy().into_owned();
        (!value.is_empty()).then_some(value)
    };
    let log = Log::new(stderr);
    log.about("drain", "", "");
    let plan = match Plan::make(&options, &lookup, host) {
        Ok(plan) => plan,
        Err(error) => {
            log.warn(&error);
            return USAGE;
        }
    };
    let budget = Budget::within(options.timeout.unwrap_or(DEFAULT_TIMEOUT));
    let (text, status) = plan.drain(budget);
    say(stdout, &text);
    status
}

impl Options {
    fn parse(arguments: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (*argument, None),
            };
            let target = match name {
                "--queue-dir" => &mut options.queue_dir,
                "--api" => &mut options.api,
                "--token-file" => &mut options.token_file,
                "--timeout" => &mut None,
                _ => return Err(format!("unknown option {argument:?}")),
            };
            let value = value
                .or_else(|| rest.next().copied())
                .filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| format!("{name} needs a value"))?;
            if name == "--timeout" {
                let seconds = value.parse().ok().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or_else(|| {
                    format!("--timeout: {value:?} is no number of seconds above 0")
                })?;
                options.timeout = Some(Duration::from_secs(seconds));
            } else {
                *target = Some(value.to_owned());
            }
        }
        Ok(options)
    }
}

/// Where the queue is, and which ledger its releases go to.
struct Plan<'a> {
    host: &'a Host,
    queue: Queue,
    ledger: Ledger,
}

/// Who gets a release.
enum Ledger {
    /// The addresses that the caller named get all of them.
    Named(Rc<Client>),
    /// The flat file's addresses get those of its cluster; the others go where they were meant
    /// to go.
    OfCluster(String, Rc<Client>),
    /// Each goes where it was meant to go.
    Recorded,
}

impl<'a> Plan<'a> {
    fn make(options: &Options, lookup: Lookup<'_>, host: &'a Host) -> Result<Self, CniError> {
        let block = Block::new(Map::new(), FlatFile::find(host, None)?);
        let directory = match &options.queue_dir {
            Some(directory) => PathBuf::from(directory),
            None => queue(&block, lookup)?,
        };
        let ledger = Ledger::choose(options, &block, lookup, host)?;
        Ok(Self {
            host,
            queue: Queue::new(host.path(&directory)),
            ledger,
        })
    }

    fn drain(&self, budget: Budget) -> (String, u8) {
        // Half-written files were never answered for; a failure to remove them changes nothing.
        let swept = self.queue.remove_abandoned((self.host.clock)());
        let delivery = Delivery {
            files: usize::MAX,
            budget,
            yielding: false,
        };
        let report = self.queue.deliver(self, delivery);
        let waiting = self.queue.names(usize::MAX);
        let directory = self.queue.directory().display();
        match (swept, report, waiting) {
            (Ok(()), Ok(report), Ok(waiting)) => self.tell(&report, waiting.len()),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => (
                format!("{directory}: cannot be read: {}", io_error_text(&error)),
                REMAINS,
            ),
        }
    }

    fn tell(&self, report: &Report, waiting: usize) -> (String, u8) {
        let mut lines = Vec::new();
        let mut set_aside = 0;
        for (name, outcome) in &report.outcomes {
            match outcome {
                Outcome::Delivered => {}
                Outcome::SetAside(path, reason) => {
                    set_aside += 1;
                    lines.push(format!("set aside {}: {reason}", path.display()));
                }
                Outcome::Away(reason) | Outcome::Stays(reason) => {
                    lines.push(format!("waits {name}: {reason}"));
                }
            }
        }
        let earlier = self.queue.set_aside_names().map_or(0, |names| names.len()) - set_aside;
        if earlier > 0 {
            let directory = self.queue.set_aside_directory();
            lines.push(format!(
                "{earlier} set aside earlier in {}",
                directory.display()
            ));
        }
        let delivered = report.delivered();
        lines.push(format!(
            "{delivered} delivered, {waiting} waiting, {set_aside} set aside"
        ));
        let status = match (waiting, set_aside) {
            (0, 0) => 0,
            (0, _) => SET_ASIDE,
            _ => REMAINS,
        };
        (lines.join("\n"), status)
    }
}

impl Ledger {
    fn choose(
        options: &Options,
        block: &Block,
        lookup: Lookup<'_>,
        host: &Host,
    ) -> Result<Self, CniError> {
        let named = match (&options.api, lookup("IPLEDGER_API_URL")) {
            (Some(text), _) => Some(("--api", text.clone())),
            (None, Some(text)) => Some(("IPLEDGER_API_URL", text)),
            (None, None) => None,
        };
        if let Some((key, text)) = named {
            let variable = || lookup("IPLEDGER_TOKEN_FILE").map(PathBuf::from);
            let token_file = options
                .token_file
                .clone()
                .map(PathBuf::from)
                .or_else(variable);
            let client = make_client(&addresses(key, &text)?, token_file, host)?;
            return Ok(Ledger::Named(client));
        }
        let (Some(_), Some(cluster)) = (block.get("api"), block.get("cluster")) else {
            return Ok(Ledger::Recorded);
        };
        let (api, token_file) = api_and_token(block, lookup)?;
        let client = make_client(&api, token_file, host)?;
        Ok(Ledger::OfCluster(cluster.text()?.to_owned(), client))
    }
}

impl Reach for Plan<'_> {
    fn client(&self, release: &QueuedRelease) -> Result<Rc<Client>, String> {
        match &self.ledger {
            Ledger::Named(client) => Ok(Rc::clone(client)),
            Ledger::OfCluster(cluster, client)
                if *cluster == release.request.attachment.cluster =>
            {
                Ok(Rc::clone(client))
            }
            Ledger::OfCluster(..) | Ledger::Recorded => recorded_client(release, self.host),
        }
    }
}

fn make_client(
    api: &[ApiAddress],
    token_file: Option<PathBuf>,
    host: &Host,
) -> Result<Rc<Client>, CniError> {
    let token = token_file.map(|path| read_token(host, &path)).transpose()?;
    Client::new(api, token.as_deref(), USER_AGENT)
        .map(Rc::new)
        .map_err(|error| CniError::key(Code::InvalidConfig, "token_file", &error.to_string()))
}
