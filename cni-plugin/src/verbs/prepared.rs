use std::io;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use ipledger_client::blocking::{ApiAddress, Budget, Client, ClientError, io_error_text};
use ipledger_client::types::{Attachment, OrderToken, ReleaseRequest};
use serde_json::Map;

use super::Session;
use crate::Host;
use crate::error::{ApiFailure, CniError, Code};
use crate::input::{
    Arguments, Block, Definition, Field, FlatFile, Mode, Network, PlainKeys, Settings, Wrong,
};
use crate::queue::{Delivery, Outcome, Queue, QueuedRelease, Reach, Report};

/// Who asks, in the access log of the API.
pub(crate) const USER_AGENT: &str = concat!("ipledger/", env!("CARGO_PKG_VERSION"));

/// Tracing headers that a runtime may set in the environment.
const TRACING: [(&str, &str); 3] = [
    ("TRACEPARENT", "Traceparent"),
    ("TRACESTATE", "Tracestate"),
    ("BAGGAGE", "Baggage"),
];

/// A call whose input was read, ready to be decided.
pub(super) struct Prepared<'a> {
    pub(super) session: &'a Session<'a>,
    pub(super) network: Network,
    pub(super) block: Block,
    pub(super) mode: Mode,
    pub(super) settings: Settings,
    pub(super) arguments: Arguments,
    client: Result<Rc<Client>, CniError>,
    pub(super) queue: Queue,
}

impl<'a> Prepared<'a> {
    /// Reads everything, and refuses what is wrong.
    pub(super) fn strictly(session: &'a Session<'a>, stdin: &[u8]) -> Result<Self, CniError> {
        let network = Network::parse(stdin)?;
        network.check_verb(session.variables.verb)?;
        let mode = network.mode()?;
        let ipam = network.ipam()?;
        let own = Block::new(ipam.clone(), None);
        let wanted = own.own("configuration_path");
        let path = wanted.as_ref().map(Field::text).transpose()?;
        let file = FlatFile::find(session.host, path)?;
        if let (Mode::Strict, Some(wanted), Some(path)) = (mode, &wanted, path)
            && file
                .as_ref()
                .is_none_or(|file| file.path != Path::new(path))
        {
            return Err(wanted.wrong("does not exist"));
        }
        let arguments = Arguments::parse(&session.variables.arguments, mode)?;
        let block = Block::new(ipam, file);
        Self::finish(session, network, block, mode, arguments, Wrong::Refuse)
    }

    /// Reads what the key of the attachment needs, and warns about the rest: whatever became of
    /// a definition since the ADD, its DEL must work.
    pub(super) fn tolerantly(session: &'a Session<'a>, stdin: &[u8]) -> Result<Self, CniError> {
        let network = Network::parse(stdin)?;
        let warn = |error: &CniError| session.log.warn(format_args!("{error}; ignored"));
        let mode = network.mode().unwrap_or(Mode::Strict);
        let ipam = network
            .ipam()
            .inspect_err(warn)
            .unwrap_or_else(|_| Map::new());
        let path = ipam
            .get("configuration_path")
            .and_then(|path| path.as_str());
        let file = FlatFile::find(session.host, path.filter(|path| !path.is_empty()));
        let file = file.inspect_err(warn).unwrap_or(None);
        let arguments = Arguments::parse(&session.variables.arguments, Mode::Strict);
        let arguments = arguments.inspect_err(warn).unwrap_or_default();
        let block = Block::new(ipam, file);
        Self::finish(session, network, block, mode, arguments, Wrong::Warn)
    }

    fn finish(
        session: &'a Session<'a>,
        network: Network,
        block: Block,
        mode: Mode,
        arguments: Arguments,
        wrong: Wrong,
    ) -> Result<Self, CniError> {
        let settings = Settings::read(&block, session.lookup, session.host, session.log, wrong)?;
        if session.token.is_none() {
            session
                .log
                .warn("the boot id cannot be read, so calls are taken as they arrive");
        }
        let client = client(session, &settings);
        let queue = Queue::new(session.host.path(&settings.queue));
        Ok(Self {
            session,
            network,
            block,
            mode,
            settings,
            arguments,
            client,
            queue,
        })
    }

    pub(super) fn client(&self) -> Result<&Client, CniError> {
        self.client.as_deref().map_err(Clone::clone)
    }

    pub(super) fn definition(&self) -> Result<Definition, CniError> {
        let Self {
            network,
            block,
            arguments,
            mode,
            session,
            ..
        } = self;
        Definition::read(network, block, arguments, *mode, session.log)
    }

    /// The time of the configuration, but at most this much.
    pub(super) fn budget(&self, most: Duration) -> Budget {
        Budget::within(self.settings.timeout.min(most))
    }

    pub(super) fn attachment(&self) -> Attachment {
        Attachment {
            cluster: self.settings.cluster.clone(),
            network: self.network.name.clone(),
            container_id: self.session.variables.container_id.clone(),
            ifname: self.session.variables.ifname.clone(),
        }
    }

    /// The release of this attachment, by a call with this order token.
    pub(super) fn release_request(&self, token: Option<OrderToken>) -> ReleaseRequest {
        ReleaseRequest {
            attachment: self.attachment(),
            owner: self.arguments.owner(self.settings.node.as_deref()),
            cluster_uid: self.settings.cluster_uid.clone(),
            token,
            deadline_ms: None,
            claimed_at: Some(self.session.host.now_text()),
        }
    }

    /// Stores a release for later.
    pub(super) fn queue_release(&self, request: ReleaseRequest) -> Result<(), CniError> {
        let api = self.settings.api.as_deref().unwrap_or_default();
        let api = api.iter().map(ToString::to_string).collect();
        let token_file = self.settings.token_file.clone().unwrap_or_default();
        let release = QueuedRelease::new(api, token_file, request);
        let at_us = (self.session.host.clock)().as_microsecond();
        self.queue.put(&release, at_us).map(drop).map_err(|error| {
            let directory = self.queue.directory().display();
            CniError::new(
                Code::Io,
                format!("queue_dir: cannot write to {directory}: {error}"),
            )
        })
    }

    /// Delivers some of what waits, and says what became of it.
    pub(super) fn deliver(&self, delivery: Delivery) -> Report {
        self.told(self.queue.deliver(self, delivery))
    }

    /// Delivers every release of this very attachment, and says what became of it.
    pub(super) fn deliver_own(&self, budget: Budget) -> Report {
        self.told(self.queue.deliver_own(&self.attachment(), self, budget))
    }

    fn told(&self, report: io::Result<Report>) -> Report {
        let report = report.unwrap_or_else(|error| {
            let directory = self.queue.directory().display();
            self.session.log.warn(format_args!(
                "queue {directory} cannot be read: {}",
                io_error_text(&error)
            ));
            Report::default()
        });
        for (name, outcome) in &report.outcomes {
            match outcome {
                Outcome::Delivered => {}
                Outcome::SetAside(path, reason) => {
                    let path = path.display();
                    self.session
                        .log
                        .warn(format_args!("queued release set aside: {path}: {reason}"));
                }
                Outcome::Away(reason) | Outcome::Stays(reason) => {
                    self.session
                        .log
                        .note(format_args!("queued release {name} waits: {reason}"));
                }
            }
        }
        report
    }

    /// The small share of the queue that every verb carries along.
    pub(super) fn deliver_a_few(&self) -> Report {
        const FILES: usize = 4;
        const TIME: Duration = Duration::from_millis(250);
        self.deliver(Delivery {
            files: FILES,
            budget: Budget::within(TIME),
            yielding: true,
        })
    }
}

impl Reach for Prepared<'_> {
    fn client(&self, release: &QueuedRelease) -> Result<Rc<Client>, String> {
        if let Ok(client) = &self.client
            && release.request.attachment.cluster == self.settings.cluster
        {
            return Ok(Rc::clone(client));
        }
        recorded_client(release, self.session.host)
    }
}

/// A client for the addresses that a queued release was meant for.
pub(crate) fn recorded_client(release: &QueuedRelease, host: &Host) -> Result<Rc<Client>, String> {
    let addresses = release.api.iter().map(|text| {
        text.parse::<ApiAddress>()
            .map_err(|error| format!("its API address {text} {error}"))
    });
    let addresses = addresses.collect::<Result<Vec<_>, _>>()?;
    if addresses.is_empty() {
        return Err("no API address is known for it".to_owned());
    }
    let token = release
        .token_file
        .as_deref()
        .map(|path| read_token(host, path))
        .transpose();
    let token = token.map_err(|error| error.to_string())?;
    let client = Client::new(&addresses, token.as_deref(), USER_AGENT);
    client.map(Rc::new).map_err(|error| error.to_string())
}

/// The token of a file, without the white space around it.
pub(crate) fn read_token(host: &Host, path: &Path) -> Result<String, CniError> {
    let bytes = host.read(path).map_err(|error| {
        let value = path.display().to_string().into();
        let why = format!("cannot be read: {}", io_error_text(&error));
        CniError::value(Code::InvalidConfig, "token_file", &value, &why)
    })?;
    Ok(String::from_utf8_lossy(&bytes).trim().to_owned())
}

fn client(session: &Session<'_>, settings: &Settings) -> Result<Rc<Client>, CniError> {
    let token_file = settings.token_file.clone()?;
    let token = token_file
        .map(|path| read_token(session.host, &path))
        .transpose()?;
    let addresses = settings.api.clone()?;
    let refused = |error: ClientError| {
        CniError::from(ApiFailure {
            error,
            keys: &PlainKeys,
        })
    };
    let mut client = Client::new(&addresses, token.as_deref(), USER_AGENT).map_err(refused)?;
    for (variable, header) in TRACING {
        if let Some(value) = (session.lookup)(variable)
            && let Err(error) = client.add_header(header, &value)
        {
            session
                .log
                .warn(format_args!("{variable} is not sent on: {error}"));
        }
    }
    Ok(Rc::new(client))
}
