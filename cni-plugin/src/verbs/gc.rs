use std::time::Duration;

use ipledger_client::types::{GarbageRequest, ValidAttachment};
use serde_json::Value;

use super::prepared::Prepared;
use super::{Done, Session};
use crate::error::{ApiFailure, CniError, Code};
use crate::input::{Field, Network, PlainKeys};

/// The name of the specification, and the one that libcni also sends.
const KEYS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];
const LONGEST: Duration = Duration::from_secs(30);

/// Tells the ledger which attachments this runtime still knows on this node and network. The
/// ledger frees the others only when a second list, later, agrees.
pub(super) fn run<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    let prepared = Prepared::strictly(session, stdin)?;
    let Some(valid) = valid_attachments(&prepared.network)? else {
        // A caller that passes no list must not be taken for one that knows no attachment.
        session.log.note(format_args!(
            "{} is absent or null, so nothing is done",
            KEYS[0]
        ));
        return Ok(Done::silently());
    };
    let Some(node) = prepared.settings.node.clone() else {
        let why = "the name of the node is not known; set NODENAME, the key node, or a nodename \
                   file beside the flat file";
        return Err(CniError::key(Code::InvalidConfig, "node", why));
    };
    let Some(token) = session.token.clone() else {
        let message = "the boot id of the node cannot be read, so the list cannot be dated";
        return Err(CniError::new(Code::Io, message));
    };
    // A release that waits here says more than its absence from a list.
    prepared.deliver_a_few();
    let request = GarbageRequest {
        cluster: prepared.settings.cluster.clone(),
        cluster_uid: prepared.settings.cluster_uid.clone(),
        node,
        network: prepared.network.name.clone(),
        token,
        valid,
        deadline_ms: None,
    };
    let answer = prepared
        .client()?
        .gc(&request, prepared.budget(LONGEST))
        .map_err(|error| {
            CniError::from(ApiFailure {
                error,
                keys: &PlainKeys,
            })
        })?;
    let (released, suspect) = (answer.released, answer.suspect);
    session
        .log
        .note(format_args!("{released} released, {suspect} suspect"));
    if answer.failed > 0 {
        let first = answer.errors.first();
        let first = first.map_or_else(String::new, |e| format!("; {}: {}", e.about, e.detail));
        let failed = answer.failed;
        return Err(CniError::new(
            Code::TryAgainLater,
            format!("{failed} parts of the garbage collection failed, the rest is done{first}"),
        ));
    }
    Ok(Done::silently())
}

/// `None` if there is no list. Decoded by hand, because an absent key, `null` and `[]` mean
/// different things here.
fn valid_attachments(network: &Network) -> Result<Option<Vec<ValidAttachment>>, CniError> {
    let found = KEYS.iter().find_map(|key| {
        let value = network.raw(key).filter(|value| **value != Value::Null)?;
        Some(Field::new(key, None, value))
    });
    let Some(list) = found else { return Ok(None) };
    // One entry that cannot be read would make a living attachment look dead.
    list.list()?
        .iter()
        .map(attachment)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn attachment(field: &Field<'_>) -> Result<ValidAttachment, CniError> {
    let text = |key: &str| {
        let child = field.required(key)?;
        let text = child.text()?;
        if text.is_empty() {
            Err(child.wrong("is empty"))
        } else {
            Ok(text.to_owned())
        }
    };
    Ok(ValidAttachment {
        container_id: text("containerID")?,
        ifname: text("ifname")?,
    })
}
