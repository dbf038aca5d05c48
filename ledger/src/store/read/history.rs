//! History: the events of one subject, over all spaces, a page at a time.

use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres};

use super::super::ledger::Ledger;
use super::super::subjects;
use super::events::{Event, event, event_columns};
use super::rows;
use crate::error::Error;

/// Who or what a history is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// An address.
    Address(IpAddr),
    /// Whatever pods had this name, one after the other.
    Pod {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// One pod, by UID.
    PodUid(String),
    /// A node, by name.
    Node(String),
    /// A sandbox, by container id.
    Sandbox(String),
    /// A CNI network, by name.
    Network(String),
}

/// Which events of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Whose history.
    pub subject: Subject,
    /// Only in this cluster; of an address: in spaces that this cluster is a member of.
    pub cluster: Option<String>,
    /// Only in this space.
    pub space: Option<String>,
    /// Only recorded at this moment or later.
    pub since: Option<Timestamp>,
    /// Only recorded before this moment.
    pub until: Option<Timestamp>,
    /// The newest first, not the oldest.
    pub newest_first: bool,
    /// Only behind this place, in the order asked for.
    pub after: Option<HistoryPlace>,
    /// How many at most.
    pub limit: u32,
}

/// The place of an event in a history: the order is time of record, space, position. In one space
/// it is that of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPlace {
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Name of the space.
    pub space: String,
    /// Position.
    pub seq: u64,
    /// Step of the address.
    pub step: u32,
}

/// The first and the last microsecond that `timestamptz` and RFC 3339 both can name: the years 1
/// and 9999.
const FIRST_US: i64 = -62_135_596_800_000_000;
const LAST_US: i64 = 253_402_300_799_999_999;

/// $1 subject, $2 cluster, $3 space, $4 since, $5 until, $6 to $8 the place (time, space, position),
/// $9 limit; of an address also $10, the step of the place.
///
/// Each cluster has keys of its own, so without a cluster every one is looked up: an index range
/// each, merged.
const OF_SUBJECT: &str = "
    select h.space_id, h.seq, h.recorded_at
    from (
        select name from ipledger.clusters union select cluster from ipledger.space_members
    ) c
    cross join lateral (
        select f.space_id, f.seq, f.recorded_at from ipledger.subjects f
        where f.{column} = ('x' || left(encode(
                sha256(convert_to(c.name || E'\\n' || $1, 'UTF8')), 'hex'), 16))::bit(64)::bigint
            and ($3::text is null
                or f.space_id = (select id from ipledger.spaces where name = $3))
            and (f.recorded_at, f.space_id, f.seq) {beyond} (m.place, $7, $8)
            and f.recorded_at >= m.since and f.recorded_at < m.until
        order by f.recorded_at {order}, f.space_id {order}, f.seq {order} limit $9
    ) h
    where $2::text is null or c.name = $2";

const OF_ADDRESS: &str = "
    select h.space_id, h.seq, h.recorded_at
    from ipledger.spaces s
    cross join lateral (
        select f.space_id, f.seq, f.recorded_at from ipledger.events f
        where f.ip = $1 and f.space_id = s.id
            and f.step {beyond} case when s.id = $7 then $10 else {edge} end
            and (f.recorded_at, f.space_id, f.seq) {beyond} (m.place, $7, $8)
            and f.recorded_at >= m.since and f.recorded_at < m.until
        order by f.step {order} limit $9
    ) h
    where ($3::text is null or s.name = $3)
        and ($2::text is null or exists (select from ipledger.space_members k
            where k.cluster = $2 and k.space_id in (s.id, s.parent)))";

/// Around either of them: the moments as times, the page, and each event in full.
const PAGE: &str = concat!(
    "select ",
    event_columns!(),
    " from (
        select t.space_id, t.seq, t.recorded_at from (
            select a.zero + $4 * a.us as since, a.zero + $5 * a.us as until,
                a.zero + $6 * a.us as place
            from (select timestamptz '1970-01-01 00:00:00Z' as zero,
                interval '1 microsecond' as us) a
        ) m
        cross join lateral ({subjects}) t
        order by t.recorded_at {order}, t.space_id {order}, t.seq {order} limit $9
    ) t
    join ipledger.events e on e.space_id = t.space_id and e.seq = t.seq
    join ipledger.spaces s on s.id = e.space_id
    left join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
    order by e.recorded_at {order}, e.space_id {order}, e.seq {order}"
);

impl Ledger {
    /// Events of a subject in order of time of record, over all spaces. What was appended before
    /// the call is in it.
    ///
    /// # Errors
    /// [`crate::Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn history(&self, query: &HistoryQuery) -> Result<Vec<Event>, Error> {
        if let Some(space) = &query.space {
            self.space_id(space).await?;
        }
        if !matches!(query.subject, Subject::Address(_)) {
            subjects::catch_up(&self.reads).await?;
        }
        let place = self.place(query).await?;
        let found = sqlx::query(AssertSqlSafe(sql(query)));
        let found = bind(found, query, &place).fetch_all(&self.reads).await?;
        found.iter().map(event).collect()
    }

    async fn place(&self, query: &HistoryQuery) -> Result<Place, Error> {
        match &query.after {
            Some(after) => Ok(Place {
                at_us: after.recorded_at.as_microsecond(),
                space_id: self.space_id(&after.space).await?,
                seq: rows::to_i64(after.seq),
                step: i32::try_from(after.step).unwrap_or(i32::MAX),
            }),
            None if query.newest_first => Ok(Place {
                at_us: LAST_US,
                space_id: i32::MAX,
                seq: i64::MAX,
                step: i32::MAX,
            }),
            None => Ok(Place {
                at_us: FIRST_US,
                space_id: 0,
                seq: 0,
                step: -1,
            }),
        }
    }
}

/// A [`HistoryPlace`] as the database knows it; before the first or behind the last without one.
struct Place {
    at_us: i64,
    space_id: i32,
    seq: i64,
    step: i32,
}

/// Made of fixed words only.
fn sql(query: &HistoryQuery) -> String {
    let (beyond, order, edge) = match query.newest_first {
        true => ("<", "desc", "2147483647"),
        false => (">", "asc", "-1"),
    };
    let (subjects, column) = match &query.subject {
        Subject::Address(_) => (OF_ADDRESS, ""),
        Subject::Pod { .. } => (OF_SUBJECT, "pod"),
        Subject::PodUid(_) => (OF_SUBJECT, "pod_uid"),
        Subject::Node(_) => (OF_SUBJECT, "node"),
        Subject::Sandbox(_) => (OF_SUBJECT, "sandbox"),
        Subject::Network(_) => (OF_SUBJECT, "network"),
    };
    PAGE.replace("{subjects}", subjects)
        .replace("{column}", column)
        .replace("{beyond}", beyond)
        .replace("{order}", order)
        .replace("{edge}", edge)
}

fn bind<'q>(
    statement: Query<'q, Postgres, PgArguments>,
    query: &'q HistoryQuery,
    place: &Place,
) -> Query<'q, Postgres, PgArguments> {
    let us = |at: Option<Timestamp>, none| at.map_or(none, Timestamp::as_microsecond);
    let statement = match &query.subject {
        Subject::Address(ip) => statement.bind(IpNet::from(*ip)),
        Subject::Pod { namespace, name } => statement.bind(format!("{namespace}/{name}")),
        Subject::PodUid(text)
        | Subject::Node(text)
        | Subject::Sandbox(text)
        | Subject::Network(text) => statement.bind(text),
    };
    let statement = statement
        .bind(&query.cluster)
        .bind(&query.space)
        .bind(us(query.since, FIRST_US))
        .bind(us(query.until, LAST_US))
        .bind(place.at_us)
        .bind(place.space_id)
        .bind(place.seq)
        .bind(i64::from(query.limit));
    match &query.subject {
        Subject::Address(_) => statement.bind(place.step),
        _ => statement,
    }
}
