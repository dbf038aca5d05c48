//! Attachment, owner and order token.

use ipledger_client::types as wire;
use ledger::model;
use uuid::Uuid;

use super::names::{self, Key};
use crate::problem::Failure;

/// An attachment; `prefix` is where it stands in the request.
pub(crate) fn attachment(
    prefix: &str,
    given: wire::Attachment,
) -> Result<model::Attachment, Failure> {
    names::cluster(Key(prefix, "cluster"), &given.cluster)?;
    names::network(Key(prefix, "network"), &given.network)?;
    names::container_id(Key(prefix, "container_id"), &given.container_id)?;
    names::ifname(Key(prefix, "ifname"), &given.ifname)?;
    Ok(model::Attachment {
        cluster: given.cluster,
        network: given.network,
        container_id: given.container_id,
        ifname: given.ifname,
    })
}

/// The pod, under the key `owner`.
pub(crate) fn owner(given: Option<wire::Owner>) -> Result<Option<model::Owner>, Failure> {
    let Some(given) = given else {
        return Ok(None);
    };
    names::pod_name(Key("owner.", "namespace"), &given.namespace)?;
    names::pod_name(Key("owner.", "name"), &given.name)?;
    if let Some(uid) = &given.uid {
        names::pod_uid(Key("owner.", "uid"), uid)?;
    }
    if let Some(node) = &given.node {
        names::node(Key("owner.", "node"), node)?;
    }
    Ok(Some(model::Owner {
        namespace: given.namespace,
        name: given.name,
        uid: given.uid,
        node: given.node,
    }))
}

/// An order token, under the key `token`.
pub(crate) fn token(given: &wire::OrderToken) -> Result<model::OrderToken, Failure> {
    let text = given.boot_id.as_str();
    // Only the spelling of /proc/sys/kernel/random/boot_id, so that one boot has one spelling.
    let boot_id = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
    let boot_id = boot_id.ok_or_else(|| {
        let problem = "is not a UUID; write it as /proc/sys/kernel/random/boot_id does";
        Failure::invalid("token.boot_id", text, problem)
    })?;
    if i64::try_from(given.boottime_ns).is_err() {
        let problem = format!("is not an integer from 0 to {}", i64::MAX);
        let value = given.boottime_ns.to_string();
        return Err(Failure::invalid("token.boottime_ns", &value, &problem));
    }
    Ok(model::OrderToken {
        boot_id,
        boottime_ns: given.boottime_ns,
    })
}
