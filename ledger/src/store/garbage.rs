//! CNI GC: a list of valid attachments is evidence for one node, one boot and one network, and
//! two lists at least a grace apart are needed.

use std::collections::HashSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ipnet::IpNet;
use serde_json::{Value, json};
use sqlx::Row as _;
use uuid::Uuid;

use super::ledger::Ledger;
use crate::answer::Answer;
use crate::command::{Command, Count, ReleaseHold, SpaceSelector};
use crate::error::Error;
use crate::model::{Boot, OrderToken, Provenance};
use crate::refusal::Refusal;

/// Releases on their way at a time: enough to share commits, few enough to leave room for others.
const TOGETHER: usize = 32;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GarbageResult {
    /// Holds ended by it.
    pub released: u32,
    /// Holds that it found suspect and that wait for another list.
    pub suspect: u32,
    /// What could not be done; the rest was.
    pub failed: Vec<GarbageFailure>,
}

/// A part of a pass that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GarbageFailure {
    /// The hold, or the notes of the pass.
    pub about: String,
    /// See [`Error::kind`].
    pub kind: &'static str,
    /// Why.
    pub reason: String,
}

/// What one look comes to, before anything is written.
#[derive(Default)]
struct Plan {
    /// To be released, with the boot and the time of the first list that did not name them.
    due: Vec<(Candidate, i64)>,
    suspects: Vec<Value>,
    cleared: Vec<Value>,
    suspect: u32,
}

#[derive(Debug, Clone)]
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
    /// One hold that cannot be freed does not keep the others, and the notes are always written.
    ///
    /// # Errors
    /// As [`Ledger::execute`]; only if nothing was done, or if that is not known.
    pub async fn collect_garbage(
        &self,
        list: GarbageList,
        wait: Duration,
    ) -> Result<GarbageResult, Error> {
        self.check_identity(&list.cluster, list.cluster_uid.as_deref())
            .await?;
        let end = Instant::now() + wait;
        // The first that is heard of a boot may be a list.
        let boot = Boot {
            cluster: list.cluster.clone(),
            node: list.node.clone(),
            boot_id: list.token.boot_id,
        };
        let see = Command::SeeBoot(Box::new(boot));
        self.enqueue(see, None, wait).await?;
        let mut plan = plan(&list, self.candidates(&list).await?);
        plan.cleared.extend(self.ended_suspects().await?);
        let mut result = GarbageResult {
            released: 0,
            suspect: plan.suspect,
            failed: Vec::new(),
        };
        let mut failures = Vec::new();
        for (candidate, released) in plan
            .due
            .iter()
            .zip(self.release_due(&list, &plan, end).await)
        {
            match released {
                Ok(()) => result.released += 1,
                // It ended otherwise, or the address has another holder: nothing is left to do.
                Err(Error::Refused(Refusal::StepMismatch { .. })) => {}
                Err(failure) => {
                    failures.push((candidate.0.to_string(), failure));
                    continue;
                }
            }
            plan.cleared.push(candidate.0.key());
        }
        let left = end.saturating_duration_since(Instant::now());
        let noted = self.note(&list, plan.suspects, plan.cleared, left).await;
        let nothing_done = result.released == 0 && noted.is_err();
        failures.extend(noted.err().map(|failure| ("suspects".to_owned(), failure)));
        let tell = |(about, failure): &(String, Error)| GarbageFailure {
            about: about.clone(),
            kind: failure.kind(),
            reason: failure.to_string(),
        };
        result.failed = failures.iter().map(tell).collect();
        if nothing_done {
            // Whatever is not known must not be told as not done.
            failures.sort_by_key(|(_, error)| !matches!(error, Error::OutcomeUnknown { .. }));
            return failures
                .into_iter()
                .next()
                .map_or(Ok(result), |(_, error)| Err(error));
        }
        Ok(result)
    }

    /// A few at a time, to share commits; one answer each.
    async fn release_due(
        &self,
        list: &GarbageList,
        plan: &Plan,
        end: Instant,
    ) -> Vec<Result<(), Error>> {
        let mut answers = Vec::with_capacity(plan.due.len());
        for some in plan.due.chunks(TOGETHER) {
            let left = end.saturating_duration_since(Instant::now());
            let release = |(candidate, first): &(Candidate, i64)| {
                self.release_suspect(list, candidate.clone(), *first, left)
            };
            answers.extend(join_all(some.iter().map(release)).await);
        }
        answers
    }

    /// Cleared first and noted again, in the order the notes are applied.
    async fn note(
        &self,
        list: &GarbageList,
        suspects: Vec<Value>,
        cleared: Vec<Value>,
        wait: Duration,
    ) -> Result<(), Error> {
        if suspects.is_empty() && cleared.is_empty() {
            return Ok(());
        }
        let selector = SpaceSelector {
            cluster: list.cluster.clone(),
            network_name: String::new(),
            overlapping: true,
        };
        let nothing = Command::Count(Box::new(Count::Ranges(selector, Vec::new())));
        self.enqueue(nothing, Some((suspects, cleared)), wait)
            .await
            .map(drop)
    }

    /// Notes of holds that ended otherwise meanwhile.
    async fn ended_suspects(&self) -> Result<Vec<Value>, Error> {
        let rows = sqlx::query(
            "select u.space_id, u.ip, u.step from ipledger.suspects u
             where not exists (select from ipledger.addresses a
                where a.space_id = u.space_id and a.ip = u.ip and a.step = u.step)
             limit 10000",
        )
        .fetch_all(&self.reads)
        .await?;
        rows.iter()
            .map(|row| {
                let net: IpNet = row.try_get("ip")?;
                let (space_id, step): (i32, i32) = (row.try_get("space_id")?, row.try_get("step")?);
                Ok(json!({"space": space_id, "ip": net.addr(), "step": step}))
            })
            .collect()
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
                and not (a.called_boot_id is not distinct from $4 and a.called_boottime_ns >= $5)
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
        candidate: Candidate,
        first_boottime_ns: i64,
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
            space: candidate.space,
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

impl Candidate {
    fn key(&self) -> Value {
        json!({"space": self.space_id, "ip": self.ip, "step": self.step})
    }
}

impl std::fmt::Display for Candidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}, step {}", self.ip, self.space, self.step)
    }
}

/// What is to be done about each candidate. Writes nothing.
fn plan(list: &GarbageList, candidates: Vec<Candidate>) -> Plan {
    let mut plan = Plan::default();
    for candidate in candidates {
        let key = candidate.key();
        match candidate.suspected {
            Some(_) if candidate.is_valid => plan.cleared.push(key),
            None if candidate.is_valid => {}
            Some(first) if is_old_enough(list, first) => plan.due.push((candidate, first.1)),
            // A list of an earlier boot proves nothing about this one: begin again.
            Some((boot_id, _)) if boot_id != list.token.boot_id => {
                plan.suspects.push(suspect(&key, list));
                plan.cleared.push(key);
                plan.suspect += 1;
            }
            Some(_) => plan.suspect += 1,
            None => {
                plan.suspects.push(suspect(&key, list));
                plan.suspect += 1;
            }
        }
    }
    plan
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
