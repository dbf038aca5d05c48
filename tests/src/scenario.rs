//! Scenario S1's definition, through the whole chain.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::chain::{Node, Outcome, Pod};
use crate::service::Service;

/// The reporter's definition as it is: exactly one address.
pub const DEFINITION: &str = r#"{
      "cniVersion": "0.3.0",
      "name": "super-net",
      "type": "macvlan",
      "master": "eth1",
      "mode": "bridge",
      "ipam":
          {
            "range": "10.10.3.0/24",
            "range_end": "10.10.3.30",
            "range_start": "10.10.3.30",
            "type": "whereabouts"
          }
    }"#;

/// The one address.
pub const ADDRESS: &str = "10.10.3.30";
/// The reporter's sandbox.
pub const FIRST_CONTAINER: &str =
    "a56b06006c6a3e3a1eb26db82b8cd5db008f20627576e3b1c7926776bffc9ed0";
/// The sandbox of the second pod that is refused.
pub const SECOND_CONTAINER: &str =
    "b2a431a89ae18c3132eb3708306a901ea5999da64f10f0a23f14ede25602c01c";
/// The sandbox that the runtime makes for the second pod after that.
pub const THIRD_CONTAINER: &str =
    "051a974db72a38d2c226aebbf46f596c62c95e2c527e7dae51d6df52d252bb51";
/// The cluster's name.
pub const CLUSTER: &str = "demo";

/// One event of an address, as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Position in the space.
    pub seq: u64,
    /// When it was recorded.
    pub recorded_at: String,
    /// Step of the address.
    pub step: u64,
    /// `allocated` or `released`.
    pub kind: String,
    /// `namespace/name`.
    pub pod: String,
    /// Node.
    pub node: String,
    /// Why.
    pub reason: String,
    /// Who acted.
    pub actor: String,
}

/// A pod of the story.
pub fn pod(name: &str, container_id: &str) -> Result<Pod> {
    let uid = match name {
        "super-pod" => "6fc4ad1d-8f07-4bb1-a63e-1f6e6c1f6a01",
        _ => "f2f9d1f6-6f0b-4a52-9a0c-0a4be30c5d02",
    };
    Pod::new(name, uid, container_id)
}

/// ADD through macvlan.
pub fn add(node: &Node, pod: &Pod) -> Result<Outcome> {
    node.call("ADD", DEFINITION, pod)
}

/// DEL through macvlan.
pub fn delete(node: &Node, pod: &Pod) -> Result<Outcome> {
    node.call("DEL", DEFINITION, pod)
}

/// The history of the address, oldest first.
pub fn history(service: &Service) -> Result<Vec<Line>> {
    let page = service.get(&format!("/v1/events?space={CLUSTER}&address={ADDRESS}"))?;
    let events = page["events"].as_array().context("events")?;
    events.iter().map(line).collect()
}

fn line(event: &Value) -> Result<Line> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let payload = &event["payload"];
    let owner = &payload["owner"];
    Ok(Line {
        seq: event["seq"].as_u64().context("seq")?,
        recorded_at: text(&event["recorded_at"]),
        step: event["step"].as_u64().context("step")?,
        kind: text(&event["kind"]),
        pod: format!("{}/{}", text(&owner["namespace"]), text(&owner["name"])),
        node: text(&owner["node"]),
        reason: text(&payload["reason"]),
        actor: text(&payload["actor"]["name"]),
    })
}

/// Try to write a second holder into the ledger with plain SQL, as the owner of the tables.
/// Gives the two refusals: the same step twice, and a step out of turn.
pub async fn forge(service: &Service) -> Result<[String; 2]> {
    let url = service.database_url()?;
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
    let driver = tokio::spawn(connection);
    client
        .batch_execute(
            "do $$ begin execute format('set role %I', current_database() || '_owner'); end $$",
        )
        .await?;
    let mut refusals = Vec::new();
    for step in ["e.step", "e.step + 2"] {
        let forged = format!(
            "insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash)
             select e.space_id, e.seq + 1, e.epoch, now(), e.ip, {step}, e.digest, e.hash
             from ipledger.events e where e.ip = '{ADDRESS}' order by e.seq desc limit 1"
        );
        let error = client
            .batch_execute(&forged)
            .await
            .err()
            .context("the forgery was accepted")?;
        let database = error
            .as_db_error()
            .context("not an error of the database")?;
        let detail = database.detail().unwrap_or_default();
        refusals.push(format!("{} {detail}", database.message()));
    }
    drop(client);
    tokio::time::timeout(Duration::from_secs(5), driver)
        .await
        .ok();
    let refusals: [String; 2] = refusals
        .try_into()
        .map_err(|_| anyhow::anyhow!("two forgeries were tried"))?;
    Ok(refusals)
}

/// The address that an ADD gave.
pub fn given(outcome: &Outcome) -> Result<String> {
    ensure!(outcome.success, "ADD failed: {}", outcome.message());
    let address = outcome.json["ips"][0]["address"]
        .as_str()
        .context("no address in the result")?;
    Ok(address.to_owned())
}
