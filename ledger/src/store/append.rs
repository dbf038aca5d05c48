//! The one call that writes, as rows.

mod rows;

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use self::rows::{FreedAddress, HeldAddress, NewEventRow};
use super::connection::Connection;
use crate::decide::{Burial, Change, HoldChange, NewEvent, OpenSpace};
use crate::event::encoding::hex;
use crate::state::{Keep, SpaceIndex, State};

/// See `migrations/0005_append.sql`. Notes cross as text.
pub(super) const APPEND_SQL: &str = "\
    call ipledger.append_and_commit($1, $2, $3, $4, $5, $6, $7::text::jsonb, $8::text::jsonb, $9, \
    null, null, null, null, null, null)";

/// The arguments of one call.
#[derive(Debug, Default)]
pub(super) struct Append {
    heads: Vec<(i32, i64)>,
    events: Vec<NewEventRow>,
    freed: Vec<FreedAddress>,
    held: Vec<HeldAddress>,
    /// How many of the held, all at the front, were never used before.
    fresh: i32,
    notes: serde_json::Map<String, Value>,
    burial: Option<Value>,
    /// Write even without rows, so that the commit waits for the standby.
    pub(super) confirm: bool,
}

/// What `append` answered.
#[derive(Debug)]
pub(super) enum Appended {
    /// It is in the ledger: head, hash and time of record per space.
    Yes { heads: Vec<Head>, epoch: u32 },
    /// Somebody else was first; nothing changed.
    Moved,
    /// A tombstone stands for one of the attachments; nothing changed.
    Tombstone,
    /// The attachment to be buried is alive; nothing changed.
    Held,
}

/// The head of a space after a call.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) space_id: i32,
    pub(super) seq: u64,
    pub(super) hash: [u8; 32],
    pub(super) recorded_at_us: Option<i64>,
}

/// What happened to one address within a batch.
struct Touched<'a> {
    first_release: Option<(u32, u64)>,
    hold: Option<(&'a NewEvent, &'a HoldChange, u64)>,
    step: u32,
    seq: u64,
    began_with_release: bool,
    /// It was never used before.
    is_fresh: bool,
}

impl Append {
    /// A call that expects these heads.
    pub(super) fn new(heads: impl IntoIterator<Item = (i32, u64)>) -> Append {
        let mut heads: Vec<(i32, i64)> = heads
            .into_iter()
            .map(|(id, seq)| (id, to_i64(seq)))
            .collect();
        heads.sort_unstable();
        heads.dedup();
        Append {
            heads,
            ..Append::default()
        }
    }

    /// Add the events of a batch, in the order they were decided, with their positions.
    pub(super) fn add_events(&mut self, state: &State, events: &[(NewEvent, u64)]) {
        let id_of = |space: SpaceIndex| state.spaces.get(space).id;
        let mut order: Vec<usize> = (0..events.len()).collect();
        order.sort_by_key(|&index| (id_of(events[index].0.space), events[index].1));
        let mut touched: HashMap<(i32, IpAddr), Touched<'_>> = HashMap::new();
        for (event, seq) in order.into_iter().map(|index| &events[index]) {
            let space = id_of(event.space);
            self.events.push(NewEventRow {
                space_id: space,
                ip: event.target.map(|(ip, _)| ip),
                step: event.target.map(|(_, step)| to_i32(step)),
                kind: event.payload.kind.as_str(),
                body: event.payload.encode(),
            });
            if let Some((ip, step)) = event.target {
                touch(&mut touched, (space, ip), step, event, *seq);
            }
        }
        let mut touched: Vec<_> = touched.into_iter().collect();
        // An order of its own, so that two replicas' calls meet in the indexes in the same one.
        touched.sort_by_key(|(key, touched)| (!touched.is_fresh, *key));
        self.fresh = i32::try_from(touched.iter().filter(|(_, t)| t.is_fresh).count())
            .expect("a batch is small");
        for ((space, ip), touched) in touched {
            self.add_address(space, ip, &touched);
        }
    }

    fn add_address(&mut self, space: i32, ip: IpAddr, touched: &Touched<'_>) {
        // A hold that stood before the batch ends first, so that no unique index sees its holder
        // twice on the way.
        if let Some((step, seq)) = touched.first_release.filter(|_| touched.began_with_release) {
            self.freed.push(FreedAddress {
                space_id: space,
                ip,
                step: to_i32(step),
                seq: to_i64(seq),
            });
        }
        if let Some((event, hold, allocated_seq)) = touched.hold {
            let place = (space, ip, to_i32(touched.step), to_i64(touched.seq));
            let row = HeldAddress::new(place, event, hold, to_i64(allocated_seq));
            self.held.push(row);
        }
    }

    /// Windows that the database does not know yet.
    pub(super) fn add_windows(&mut self, windows: &[(i32, address::Window, u64)]) {
        let notes = windows.iter().map(|(space, window, seq)| {
            json!({
                "space": space, "cidr": window.cidr(), "first": window.start(),
                "last": window.end(), "exclude": window.exclude_text(), "seq": seq,
            })
        });
        self.note("windows", notes.collect());
    }

    /// For whom addresses are kept after their release: space, address, position of the hold.
    pub(super) fn add_keeps(&mut self, keeps: &[(i32, IpAddr, u64, Keep)]) {
        let notes = keeps.iter().map(|(space, ip, seq, keep)| {
            json!({
                "space": space, "ip": ip, "seq": seq, "name": hex(&keep.name.to_be_bytes()),
                "seconds": keep.seconds,
            })
        });
        self.note("keeps", notes.collect());
    }

    /// Clusters bound by the batch's events: (name, UID).
    pub(super) fn add_clusters(&mut self, clusters: &[(String, String)]) {
        let notes = clusters
            .iter()
            .map(|(name, uid)| json!({"name": name, "uid": uid}));
        self.note("clusters", notes.collect());
    }

    /// Spaces to be opened.
    pub(super) fn add_spaces(&mut self, spaces: &[OpenSpace]) {
        let notes = spaces.iter().map(|space| {
            let members: Vec<Value> = space
                .members
                .iter()
                .map(|(cluster, name)| json!({"cluster": cluster, "network_name": name}))
                .collect();
            json!({
                "name": space.name,
                "parent": space.private.map(|(parent, _)| parent),
                "cidr": space.private.map(|(_, cidr)| cidr),
                "members": members,
            })
        });
        self.note("spaces", notes.collect());
    }

    /// Tombstones that an allocate of this batch came after.
    pub(super) fn forget(&mut self, attachments: &[u128]) {
        let keys = attachments.iter().map(|key| json!(hex(&key.to_be_bytes())));
        self.note("forget", keys.collect());
    }

    /// Suspects of a garbage collection, to be noted or cleared: ready-made records.
    pub(super) fn add_suspects(&mut self, suspects: Vec<Value>, cleared: Vec<Value>) {
        self.note("suspects", suspects);
        self.note("cleared", cleared);
    }

    /// A release that found nothing.
    pub(super) fn bury(&mut self, burial: &Burial, seconds: i64) {
        self.burial = Some(json!({
            "attachment": hex(&burial.attachment.to_be_bytes()),
            "boot_id": burial.token.map(|token| token.boot_id),
            "boottime_ns": burial.token.map(|token| token.boottime_ns),
            "cluster": burial.cluster,
            "node": burial.node,
            "seconds": seconds,
        }));
    }

    fn note(&mut self, key: &str, items: Vec<Value>) {
        if !items.is_empty() {
            self.notes.insert(key.to_owned(), Value::Array(items));
        }
    }

    /// How many events the call carries.
    pub(super) fn event_count(&self) -> usize {
        self.events.len()
    }

    /// Send it: one round trip.
    pub(super) async fn send(
        &self,
        connection: &Connection,
    ) -> Result<Appended, tokio_postgres::Error> {
        let (head_space, head_seq): (Vec<i32>, Vec<i64>) = self.heads.iter().copied().unzip();
        let notes = (!self.notes.is_empty()).then(|| Value::from(self.notes.clone()).to_string());
        let burial = self.burial.as_ref().map(Value::to_string);
        let row = connection
            .client
            .query_one(
                &connection.append,
                &[
                    &head_space,
                    &head_seq,
                    &self.events,
                    &self.freed,
                    &self.held,
                    &self.fresh,
                    &notes,
                    &burial,
                    &self.confirm,
                ],
            )
            .await?;
        Ok(match row.get::<_, &str>(0) {
            "moved" => Appended::Moved,
            "tombstone" => Appended::Tombstone,
            "held" => Appended::Held,
            _ => Appended::Yes {
                heads: heads(&row),
                epoch: row.get::<_, Option<i32>>(5).map_or(0, to_u32),
            },
        })
    }
}

fn touch<'a>(
    touched: &mut HashMap<(i32, IpAddr), Touched<'a>>,
    key: (i32, IpAddr),
    step: u32,
    event: &'a NewEvent,
    seq: u64,
) {
    let is_release = matches!(event.change, Change::Free);
    let entry = touched.entry(key).or_insert(Touched {
        first_release: None,
        hold: None,
        step,
        seq,
        began_with_release: is_release,
        is_fresh: step == 0,
    });
    entry.step = step;
    entry.seq = seq;
    if is_release {
        entry.first_release.get_or_insert((step, seq));
    }
    if let Change::Hold(hold) = &event.change {
        entry.hold = Some((event, hold, seq));
    }
}

/// The answer's columns; they are NULL if no space was looked at.
fn heads(row: &tokio_postgres::Row) -> Vec<Head> {
    let spaces: Vec<i32> = row.get::<_, Option<_>>(1).unwrap_or_default();
    let seqs: Vec<i64> = row.get::<_, Option<_>>(2).unwrap_or_default();
    let hashes: Vec<&[u8]> = row.get::<_, Option<_>>(3).unwrap_or_default();
    let times: Vec<Option<SystemTime>> = row.get::<_, Option<_>>(4).unwrap_or_default();
    spaces
        .into_iter()
        .zip(seqs)
        .zip(hashes)
        .zip(times)
        .map(|(((space_id, seq), hash), recorded_at)| Head {
            space_id,
            seq: to_u64(seq),
            hash: to_hash(hash),
            recorded_at_us: recorded_at.map(micros),
        })
        .collect()
}

/// Since 1970; the ledger has no older times.
fn micros(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Positions, steps and nanoseconds fit 63 bits for longer than anyone will run this.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The database's checks refuse negative positions.
pub(super) fn to_u64(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn to_i32(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

pub(super) fn to_u32(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

/// The database's checks refuse another length.
pub(super) fn to_hash(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().unwrap_or([0; 32])
}
