//! A recorded past for tests and benchmarks: events at any time, chained and guarded like those of
//! the lane, written in bulk. The guard checks every row; only `append` is left out, because it
//! knows one time, the present.
//!
//! ```text
//! Recorder::new("prod", window) ── allocate / release at chosen times ──▶ write(superuser)
//! Recorder::fill(superuser, seed, events, …) ── a seeded life of many pods, written on the way
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr};

use address::Window;
use futures_util::SinkExt as _;
use jiff::Timestamp;
use tokio_postgres::Client;

use crate::event::encoding::{Header, fingerprint_of, hex, payload_digest};
use crate::event::{Decision, DecisionRule, Ended, Kind, Payload, WindowRecord};
use crate::model::{Actor, Attachment, Owner, Provenance};

/// Rows that are sent at a time.
const CHUNK: usize = 20_000;

/// One event as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Position.
    pub seq: u64,
    /// Address.
    pub ip: IpAddr,
    /// Step; even means held from here on.
    pub step: u32,
    /// When, in microseconds since 1970.
    pub at_us: i64,
    /// The container id of the hold that begins or ends.
    pub container_id: String,
}

/// Who holds an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The interface.
    pub attachment: Attachment,
    /// The pod.
    pub owner: Owner,
}

impl Holder {
    /// The pod `default/<pod>` with this UID, on a node, in a sandbox; cluster `prod`, network
    /// `super-net`, interface `net1`.
    #[must_use]
    pub fn new(pod: &str, uid: &str, node: &str, container_id: &str) -> Holder {
        Holder {
            attachment: Attachment {
                cluster: "prod".to_owned(),
                container_id: container_id.to_owned(),
                ifname: "net1".to_owned(),
                network: "super-net".to_owned(),
            },
            owner: Owner {
                name: pod.to_owned(),
                namespace: "default".to_owned(),
                node: Some(node.to_owned()),
                uid: Some(uid.to_owned()),
            },
        }
    }
}

/// The life of one address so far.
struct Life {
    step: u32,
    seq: u64,
    at_us: i64,
    allocated_seq: u64,
    allocated_at_us: i64,
    holder: Holder,
}

/// Records a past of one space.
pub struct Recorder {
    space: String,
    window: Window,
    hash: [u8; 32],
    lives: BTreeMap<IpAddr, Life>,
    recorded: Vec<Recorded>,
    events: String,
    payloads: String,
    held: u64,
    /// Once it is in the database.
    space_id: Option<i32>,
}

impl Recorder {
    /// An empty past of a space, whose addresses come out of one window.
    #[must_use]
    pub fn new(space: &str, window: Window) -> Recorder {
        Recorder {
            space: space.to_owned(),
            window,
            hash: [0; 32],
            lives: BTreeMap::new(),
            recorded: Vec::new(),
            events: String::new(),
            payloads: String::new(),
            held: 0,
            space_id: None,
        }
    }

    /// What was recorded, in order of position.
    #[must_use]
    pub fn recorded(&self) -> &[Recorded] {
        &self.recorded
    }

    /// The holder begins to hold a free address. Times must not run backwards.
    ///
    /// # Panics
    /// If the address is held.
    pub fn allocate(&mut self, at: Timestamp, ip: IpAddr, holder: Holder) {
        let step = self.lives.get(&ip).map_or(0, |life| life.step + 1);
        assert!(step.is_multiple_of(2), "{ip} is held");
        let mut payload = Payload::new(Kind::Allocated, "add", &provenance("ipledger", at));
        payload.attachment = Some(holder.attachment.clone());
        payload.owner = Some(holder.owner.clone());
        payload.cooldown_seconds = Some(0);
        payload.content = Some(format!("{:016x}", content(&holder)));
        payload.decision = Some(Decision {
            capacity: self.window.capacity().to_string(),
            cooling: 0,
            held: self.held,
            ips: Vec::new(),
            position: 0,
            ranges: 1,
            reserved: 0,
            rule: DecisionRule::LowestFree,
            window: WindowRecord::new(&self.window, false),
        });
        self.held += 1;
        let seq = self.append(at, ip, step, &holder, &payload);
        let at_us = at.as_microsecond();
        let life = Life {
            step,
            seq,
            at_us,
            allocated_seq: seq,
            allocated_at_us: at_us,
            holder,
        };
        self.lives.insert(ip, life);
    }

    /// The hold of an address ends, by its own DEL.
    ///
    /// # Panics
    /// If the address is not held.
    pub fn release(&mut self, at: Timestamp, ip: IpAddr) {
        self.end(at, ip, "del", None);
    }

    /// The hold of an address ends by somebody else's word.
    ///
    /// # Panics
    /// If the address is not held.
    pub fn release_by(&mut self, at: Timestamp, ip: IpAddr, actor: &str, reason: &str) {
        self.end(at, ip, reason, Some(actor));
    }

    fn end(&mut self, at: Timestamp, ip: IpAddr, reason: &str, actor: Option<&str>) {
        let life = self.lives.get(&ip).expect("it was used");
        assert!(life.step.is_multiple_of(2), "{ip} is free");
        let (step, holder) = (life.step + 1, life.holder.clone());
        let provenance = provenance(actor.unwrap_or("ipledger"), at);
        let mut payload = Payload::new(Kind::Released, reason, &provenance);
        payload.ends_seq = Some(life.allocated_seq);
        if actor.is_some() {
            payload.ended = Some(Ended {
                attachment: holder.attachment.clone(),
                owner: Some(holder.owner.clone()),
            });
            let evidence = serde_json::json!({"pod": "not found", "resource_version": "4711"});
            payload.evidence = evidence.as_object().cloned();
        } else {
            payload.attachment = Some(holder.attachment.clone());
        }
        self.held -= 1;
        let seq = self.append(at, ip, step, &holder, &payload);
        if let Some(life) = self.lives.get_mut(&ip) {
            life.step = step;
            life.seq = seq;
            life.at_us = at.as_microsecond();
        }
    }

    fn append(
        &mut self,
        at: Timestamp,
        ip: IpAddr,
        step: u32,
        holder: &Holder,
        payload: &Payload,
    ) -> u64 {
        let seq = self.recorded.len() as u64 + 1;
        let body = payload.encode();
        let header = Header {
            space: &self.space,
            seq,
            epoch: 1,
            address: Some((ip, step)),
            recorded_at_us: at.as_microsecond(),
            digest: payload_digest(&body),
            previous: self.hash,
        };
        self.hash = header.hash();
        let (digest, hash) = (hex(&header.digest), hex(&self.hash));
        // `$` stands for the id of the space, which is known when it is written.
        let _ = writeln!(
            self.events,
            "$\t{seq}\t1\t{at}\t{ip}\t{step}\t\\\\x{digest}\t\\\\x{hash}"
        );
        let _ = writeln!(
            self.payloads,
            "$\t{seq}\t1\t{}\t\\\\x{}",
            payload.kind.as_str(),
            hex(&body)
        );
        self.recorded.push(Recorded {
            seq,
            ip,
            step,
            at_us: at.as_microsecond(),
            container_id: holder.attachment.container_id.clone(),
        });
        seq
    }

    /// A seeded life of many pods: so many more events about the first `addresses` of the window,
    /// evenly spread over the time from `start` to `end`. Pods come back under their names with
    /// other UIDs; one release in eight is by `ipledger-sync`. Rows are written on the way, so that
    /// memory does not grow with them; [`Recorder::write`] completes them.
    ///
    /// # Errors
    /// What the database says.
    ///
    /// # Panics
    /// If the window is not IPv4.
    pub async fn fill(
        &mut self,
        client: &Client,
        seed: u64,
        events: u64,
        addresses: u32,
        (start, end): (Timestamp, Timestamp),
    ) -> Result<(), tokio_postgres::Error> {
        let IpAddr::V4(first) = self.window.start() else {
            panic!("an IPv4 window");
        };
        let mut random = Random(seed);
        let span_us = end.as_microsecond() - start.as_microsecond();
        for number in 0..events {
            let part = i128::from(span_us) * i128::from(number) / i128::from(events);
            let at_us = start.as_microsecond() + i64::try_from(part).unwrap_or(0);
            let at = Timestamp::from_microsecond(at_us).unwrap_or(start);
            let index = u32::try_from(random.below(u64::from(addresses))).unwrap_or(0);
            let ip = IpAddr::V4(Ipv4Addr::from_bits(first.to_bits() + index));
            let held = self
                .lives
                .get(&ip)
                .is_some_and(|life| life.step.is_multiple_of(2));
            match (held, random.below(8)) {
                (true, 0) => self.release_by(at, ip, "ipledger-sync", "pod gone"),
                (true, _) => self.release(at, ip),
                (false, _) => {
                    let holder = Holder::new(
                        &format!("web-{}", random.below(u64::from(addresses))),
                        &format!("uid-{}-{number}", self.space),
                        &format!("node-{}", random.below(100)),
                        &format!("c-{}-{number}", self.space),
                    );
                    self.allocate(at, ip, holder);
                }
            }
            if self.recorded.len().is_multiple_of(CHUNK) {
                self.flush(client).await?;
            }
        }
        Ok(())
    }

    /// Writes the rows that are not written yet, and makes the space before the first.
    async fn flush(&mut self, client: &Client) -> Result<i32, tokio_postgres::Error> {
        let id = match self.space_id {
            Some(id) => id,
            None => self.open_space(client).await?,
        };
        self.space_id = Some(id);
        let columns = "space_id, seq, epoch, recorded_at, ip, step, digest, hash";
        let events = std::mem::take(&mut self.events);
        copy(client, &format!("events ({columns})"), id, &events).await?;
        let payloads = std::mem::take(&mut self.payloads);
        copy(client, "payloads", id, &payloads).await?;
        Ok(id)
    }

    async fn open_space(&self, client: &Client) -> Result<i32, tokio_postgres::Error> {
        let (cluster, network_name) = self.space.split_once('/').unwrap_or((&self.space, ""));
        let space = "insert into ipledger.spaces (name) values ($1) returning id";
        let id: i32 = client.query_one(space, &[&self.space]).await?.get(0);
        let member = "insert into ipledger.space_members values ($1, $2, $3)";
        client
            .execute(member, &[&cluster, &network_name, &id])
            .await?;
        Ok(id)
    }

    /// Writes it all into a migrated database in which nobody else writes, as a superuser: the
    /// space with its member, the events under the guard, and what follows from them.
    ///
    /// # Errors
    /// What the database says.
    pub async fn write(mut self, client: &Client) -> Result<Vec<Recorded>, tokio_postgres::Error> {
        let id = self.flush(client).await?;
        let addresses = self.addresses();
        copy(client, ADDRESSES, id, &addresses).await?;
        let window = &self.window;
        client
            .batch_execute(&format!(
                "insert into ipledger.pools values ({id}, '{cidr}', 1);
                 insert into ipledger.windows values ({id}, '{cidr}', '{}', '{}', '{{}}', 1);
                 update ipledger.spaces s set seq = e.seq, hash = e.hash,
                    recorded_at = e.recorded_at
                 from ipledger.events e where s.id = {id} and e.space_id = {id}
                    and e.seq = {}",
                window.start(),
                window.end(),
                self.recorded.len(),
                cidr = window.cidr(),
            ))
            .await?;
        Ok(self.recorded)
    }

    fn addresses(&self) -> String {
        let mut text = String::new();
        let time = |us: i64| Timestamp::from_microsecond(us).unwrap_or(Timestamp::UNIX_EPOCH);
        for (ip, life) in &self.lives {
            let (attachment, owner) = (&life.holder.attachment, &life.holder.owner);
            let owner_key = owner.key(&attachment.cluster, &attachment.ifname);
            let _ = writeln!(
                text,
                "$\t{ip}\t{}\t{}\t{}\t{}\t{}\t{}\t\\\\x{}\t\\\\x{}\t0\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\
                 \t{}\t0\t{}",
                life.step,
                life.seq,
                time(life.at_us),
                self.window.cidr(),
                life.allocated_seq,
                time(life.allocated_at_us),
                hex(&attachment.key().to_be_bytes()),
                hex(&owner_key.unwrap_or(0).to_be_bytes()),
                attachment.cluster,
                attachment.network,
                attachment.container_id,
                attachment.ifname,
                owner.namespace,
                owner.name,
                owner.uid.as_deref().unwrap_or("\\N"),
                owner.node.as_deref().unwrap_or("\\N"),
                content(&life.holder).cast_signed(),
                match life.step.is_multiple_of(2) {
                    true => "\\N".to_owned(),
                    false => time(life.at_us).to_string(),
                },
            );
        }
        text
    }
}

const ADDRESSES: &str = "addresses (space_id, ip, step, seq, recorded_at, pool, allocated_seq, \
    allocated_at, attachment, owner, position, cluster, network, container_id, ifname, namespace, \
    pod, pod_uid, node, content, cooldown_seconds, released_at)";

async fn copy(
    client: &Client,
    into: &str,
    space_id: i32,
    rows: &str,
) -> Result<(), tokio_postgres::Error> {
    let sink = client
        .copy_in::<_, std::io::Cursor<Vec<u8>>>(&format!("copy ipledger.{into} from stdin"))
        .await?;
    let mut sink = std::pin::pin!(sink);
    let mut text = String::with_capacity(rows.len() + rows.len() / 100);
    for row in rows.lines() {
        text.push_str(&space_id.to_string());
        text.push_str(row.strip_prefix('$').unwrap_or(row));
        text.push('\n');
    }
    sink.send(std::io::Cursor::new(text.into_bytes())).await?;
    sink.finish().await?;
    Ok(())
}

fn content(holder: &Holder) -> u64 {
    fingerprint_of(&["recorded", &holder.attachment.container_id])
}

fn provenance(actor: &str, at: Timestamp) -> Provenance {
    Provenance {
        request_id: "recorded".to_owned(),
        actor: Actor {
            authenticated_by: "recorded".to_owned(),
            name: actor.to_owned(),
        },
        claimed_at: Some(at),
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
