use std::path::PathBuf;
use std::time::Duration;

use ipledger_client::blocking::ApiAddress;
use serde_json::Value;

use super::node::node_name;
use super::{Block, Field, Lookup};
use crate::Host;
use crate::error::{CniError, Code};
use crate::log::Log;

/// The API's default address.
const DEFAULT_API: &str = "http://127.0.0.1:8311";
/// Where releases wait by default.
const DEFAULT_QUEUE: &str = "/var/lib/ipledger/queue";
/// Well under the two minutes after which kubelet and the runtimes give up, and short enough
/// that several networks of one pod fit one after the other.
const DEFAULT_TIMEOUT_SECONDS: u32 = 30;
const LONGEST_TIMEOUT_SECONDS: u32 = 90;

/// How to reach the ledger, and as whom. An environment variable wins over the definition, the
/// definition over the flat file.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) cluster: String,
    /// UID of its kube-system namespace, by which the API tells it from another of that name.
    pub(crate) cluster_uid: Option<String>,
    /// A wrong address must not stop a DEL, so the error is kept until somebody needs it.
    pub(crate) api: Result<Vec<ApiAddress>, CniError>,
    pub(crate) token_file: Result<Option<PathBuf>, CniError>,
    pub(crate) queue: PathBuf,
    pub(crate) timeout: Duration,
    pub(crate) node: Option<String>,
}

/// What to do with a value that is wrong but not needed for the key of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// Fail.
    Refuse,
    /// Warn and go on with the default: a DEL must not stick at a typing error.
    Warn,
}

impl Settings {
    pub(crate) fn read(
        block: &Block,
        lookup: Lookup<'_>,
        host: &Host,
        log: &Log<'_>,
        wrong: Wrong,
    ) -> Result<Self, CniError> {
        let queue = queue(block, lookup);
        let node = node_name(block, lookup, host);
        Ok(Self {
            cluster: cluster(block, lookup)?,
            cluster_uid: settle(cluster_uid(block, lookup), || None, log, wrong)?,
            api: api(block, lookup),
            token_file: token_file(block, lookup),
            queue: settle(queue, || PathBuf::from(DEFAULT_QUEUE), log, wrong)?,
            timeout: settle(timeout(block), default_timeout, log, wrong)?,
            node: settle(node, || None, log, wrong)?,
        })
    }
}

fn settle<T>(
    result: Result<T, CniError>,
    default: impl Fn() -> T,
    log: &Log<'_>,
    wrong: Wrong,
) -> Result<T, CniError> {
    match (result, wrong) {
        (Err(error), Wrong::Warn) => {
            log.warn(format_args!("{error}; going on with the default"));
            Ok(default())
        }
        (other, _) => other,
    }
}

fn cluster(block: &Block, lookup: Lookup<'_>) -> Result<String, CniError> {
    let (key, value) = match (lookup("IPLEDGER_CLUSTER"), block.get("cluster")) {
        (Some(name), _) => ("IPLEDGER_CLUSTER".to_owned(), name),
        (None, Some(field)) => (field.label(), field.text()?.to_owned()),
        (None, None) => {
            return Err(CniError::key(
                Code::InvalidConfig,
                "cluster",
                "the name of the Kubernetes cluster is missing and has no default; set it in the \
                 ipam block, in /etc/cni/net.d/ipledger.d/ipledger.conf, or as IPLEDGER_CLUSTER",
            ));
        }
    };
    if is_dns_subdomain(&value) {
        return Ok(value);
    }
    let why = "is not a DNS subdomain (lower-case letters, digits, \"-\" and \".\", at most 253)";
    Err(CniError::value(
        Code::InvalidConfig,
        &key,
        &Value::from(value),
        why,
    ))
}

fn cluster_uid(block: &Block, lookup: Lookup<'_>) -> Result<Option<String>, CniError> {
    let (key, value) = match (lookup("IPLEDGER_CLUSTER_UID"), block.get("cluster_uid")) {
        (Some(uid), _) => ("IPLEDGER_CLUSTER_UID".to_owned(), uid),
        (None, Some(field)) => (field.label(), field.text()?.to_owned()),
        (None, None) => return Ok(None),
    };
    if (1..=64).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(value));
    }
    let why = "is not a UID (1 to 64 visible ASCII characters)";
    let value = Value::from(value);
    Err(CniError::value(Code::InvalidConfig, &key, &value, why))
}

fn is_dns_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

fn api(block: &Block, lookup: Lookup<'_>) -> Result<Vec<ApiAddress>, CniError> {
    if let Some(text) = lookup("IPLEDGER_API_URL") {
        return addresses("IPLEDGER_API_URL", &text);
    }
    match block.get("api") {
        None => addresses("api", DEFAULT_API),
        Some(field) if field.value.is_array() => {
            let mut all = Vec::new();
            for item in field.list()? {
                all.append(&mut addresses(&item.label(), item.text()?)?);
            }
            Ok(all)
        }
        Some(field) => addresses(&field.label(), text_or_list(&field)?),
    }
}

fn text_or_list<'a>(field: &Field<'a>) -> Result<&'a str, CniError> {
    field
        .value
        .as_str()
        .ok_or_else(|| field.wrong("is neither a string nor a list of strings"))
}

/// One address, or several with commas in between.
pub(crate) fn addresses(key: &str, text: &str) -> Result<Vec<ApiAddress>, CniError> {
    let parse = |part: &str| {
        part.trim().parse().map_err(|error| {
            CniError::value(
                Code::InvalidConfig,
                key,
                &Value::from(part),
                &format!("{error}"),
            )
        })
    };
    text.split(',').map(parse).collect()
}

fn path(field: &Field<'_>) -> Result<PathBuf, CniError> {
    let path = PathBuf::from(field.text()?);
    if path.is_absolute() {
        Ok(path)
    } else {
        Err(field.wrong("is not an absolute path"))
    }
}

fn token_file(block: &Block, lookup: Lookup<'_>) -> Result<Option<PathBuf>, CniError> {
    if let Some(path) = lookup("IPLEDGER_TOKEN_FILE") {
        return Ok(Some(PathBuf::from(path)));
    }
    block.get("token_file").as_ref().map(path).transpose()
}

/// Where releases wait.
pub(crate) fn queue(block: &Block, lookup: Lookup<'_>) -> Result<PathBuf, CniError> {
    if let Some(path) = lookup("IPLEDGER_QUEUE_DIR") {
        return Ok(PathBuf::from(path));
    }
    let configured = block.get("queue_dir").as_ref().map(path).transpose()?;
    Ok(configured.unwrap_or_else(|| PathBuf::from(DEFAULT_QUEUE)))
}

/// How to reach the API, without the rest.
pub(crate) fn api_and_token(
    block: &Block,
    lookup: Lookup<'_>,
) -> Result<(Vec<ApiAddress>, Option<PathBuf>), CniError> {
    Ok((api(block, lookup)?, token_file(block, lookup)?))
}

fn default_timeout() -> Duration {
    Duration::from_secs(DEFAULT_TIMEOUT_SECONDS.into())
}

fn timeout(block: &Block) -> Result<Duration, CniError> {
    let Some(field) = block.get("timeout_seconds") else {
        return Ok(default_timeout());
    };
    Ok(Duration::from_secs(
        field.integer_within(1, LONGEST_TIMEOUT_SECONDS)?.into(),
    ))
}
