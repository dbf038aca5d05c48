//! CNI GC: a list of valid attachments is evidence for one node, one boot and one network, and
//! two lists at least a grace apart are needed.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use serde_json::{Value, json};
use sqlx::Row as _;
use uuid::Uuid;

use super::ledger::Ledger;
use crate::answer::Answer;
use crate::command::{Command, Count, ReleaseHold};
use crate::error::Error;
use crate::model::{OrderToken, Provenance};

/// A runtime's list.
#[derive(Debug, Clone)]
pub struct GarbageList {
    /// Name of the cluster.
    pub cluster: String,
    /// UID of its kube-system namespace, when the caller knows it.
    pub cluster_uid: Option<String>,
    /// Name of the node.
    pub node: String,
    /// `name` of the CNI network.
    pub network: String,
    /// Boot, and time since boot at the start of the call.
    pub token: OrderToken,
    /// (container id, interface) that are valid.
    pub valid: Vec<(String, String)>,
    /// Two lists must be at least this far apart.
    pub grace: Duration,
    /// Where the list comes from.
    pub provenance: Provenance,
}

/// What a list led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GarbageResult {
    /// Holds ended by it.
    pub released: u32,
    /// Holds that it found suspect and that wait for another list.
    pub suspect: u32,
}

struct Candidate {
    space_id: i32,
    space: String,
    ip: IpAddr,
    step: u32,
    is_valid: bool,
    suspected: Option<(Uuid, i64)>,
}

impl Ledger {
    /// Take a runtime's list in: suspect what it does not name, free what was suspect for long
    /// enough, clear what it names. Holds younger than the call are left alone.
    ///
    /// # Errors
    /// As [`Ledger::execute`]; what was freed before an error stays freed.
    pub async fn collect_garbage(
        &self,
        list: GarbageList,
        wait: Duration,
    ) -> Result<GarbageResult, Error> {
        self.check_identity(&list.cluster, list.cluster_uid.as_deref())
            .await?;
        let mut result = GarbageResult {
            released: 0,
            suspect: 0,
        };
        let mut suspects: Vec<Value> = Vec::new();
        let mut cleared: Vec<Value> = Vec::new();
        for candidate in self.candidates(&list).await? {
            let key = json!({
                "space": candidate.space_id, "ip": candidate.ip, "step": candidate.step,
            });
            if candidate.is_valid {
                if candidate.suspected.is_some() {
                    cleared.push(key);
                }
                continue;
            }
            match candidate.suspected {
                Some(first) if is_old_enough(&list, first) => {
                    self.release_suspect(&list, &candidate, first, wait).await?;
                    result.released += 1;
                    cleared.push(key);
                }
                // A list of an earlier boot proves nothing about this one: begin again.
                Some((boot_id, _)) if boot_id != list.token.boot_id => {
                    cleared.push(key.clone());
                    suspects.push(suspect(&key, &list));
                    result.suspect += 1;
                }
                Some(_) => result.suspect += 1,
                None => {
                    suspects.push(suspect(&key, &list));
                    result.suspect += 1;
                }
            }
        }
        if !suspects.is_empty() || !cleared.is_empty() {
            // Cleared first and noted again, in the order the notes are applied.
            let nothing = Command::Count(Box::new(Count::Ranges(
                crate::command::SpaceSelector {
                    cluster: list.cluster.clone(),
                    network_name: String::new(),
                    overlapping: true,
                },
                Vec::new(),
            )));
            self.enqueue(nothing, Some((suspects, cleared)), wait)
                .await?;
        }
        Ok(result)
    }

    async fn candidates(&self, list: &GarbageList) -> Result<Vec<Candidate>, Error> {
        let valid: HashSet<(&str, &str)> = list
            .valid
            .iter()
            .map(|(id, ifname)| (id.as_str(), ifname.as_str()))
            .collect();
        let rows = sqlx::query(
            "select a.space_id, s.name, a.ip, a.step, a.container_id, a.ifname, u.boot_id,
                u.boottime_ns
             from ipledger.addresses a
             join ipledger.spaces s on s.id = a.space_id
             left join ipledger.suspects u
                on u.space_id = a.space_id and u.ip = a.ip and u.step = a.step
             where a.cluster = $1 and a.node = $2 and a.network = $3 and a.step % 2 = 0
                -- Younger than the call: the list cannot know it.
                and not (a.boot_id is not distinct from $4 and a.boottime_ns >= $5)
             order by a.space_id, a.ip",
        )
        .bind(&list.cluster)
        .bind(&list.node)
        .bind(&list.network)
        .bind(list.token.boot_id)
        .bind(i64::try_from(list.token.boottime_ns).unwrap_or(i64::MAX))
        .fetch_all(&self.reads)
        .await?;
        rows.iter()
            .map(|row| {
                let net: IpNet = row.try_get("ip")?;
                let container_id: String = row.try_get("container_id")?;
                let ifname: String = row.try_get("ifname")?;
                let boot_id: Option<Uuid> = row.try_get("boot_id")?;
                let boottime: Option<i64> = row.try_get("boottime_ns")?;
                Ok(Candidate {
                    space_id: row.try_get("space_id")?,
                    space: row.try_get("name")?,
                    ip: net.addr(),
                    step: u32::try_from(row.try_get::<i32, _>("step")?).unwrap_or(0),
                    is_valid: valid.contains(&(container_id.as_str(), ifname.as_str())),
                    suspected: boot_id.zip(boottime),
                })
            })
            .collect()
    }

    async fn release_suspect(
        &self,
        list: &GarbageList,
        candidate: &Candidate,
        (_, first_boottime_ns): (Uuid, i64),
        wait: Duration,
    ) -> Result<(), Error> {
        let evidence = json!({
            "kind": "cni_gc",
            "cluster": list.cluster,
            "node": list.node,
            "network": list.network,
            "boot_id": list.token.boot_id,
            "first_list_boottime_ns": first_boottime_ns,
            "second_list_boottime_ns": list.token.boottime_ns,
            "second_list_length": list.valid.len(),
            "grace_seconds": list.grace.as_secs(),
        });
        let Value::Object(evidence) = evidence else {
            unreachable!("an object was just made")
        };
        let release = ReleaseHold {
            space: candidate.space.clone(),
            ip: candidate.ip,
            step: candidate.step,
            reason: "gc".to_owned(),
            evidence,
            provenance: list.provenance.clone(),
        };
        match self
            .execute(Command::ReleaseHold(Box::new(release)), wait)
            .await?
        {
            Answer::HoldReleased(_) => Ok(()),
            other => Err(super::ledger::unexpected(&other)),
        }
    }
}

fn is_old_enough(list: &GarbageList, (boot_id, boottime_ns): (Uuid, i64)) -> bool {
    let since = i128::from(list.token.boottime_ns) - i128::from(boottime_ns);
    boot_id == list.token.boot_id
        && since >= i128::try_from(list.grace.as_nanos()).unwrap_or(i128::MAX)
}

fn suspect(key: &Value, list: &GarbageList) -> Value {
    let mut suspect = key.clone();
    suspect["boot_id"] = json!(list.token.boot_id);
    suspect["boottime_ns"] = json!(list.token.boottime_ns);
    suspect
}
