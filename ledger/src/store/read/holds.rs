use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{Row as _, ValueRef as _};

use super::super::ledger::Ledger;
use super::moment::last_steps;
use super::rows;
use crate::command::{Allocate, Import};
use crate::error::Error;
use crate::event::{Payload, WindowRecord};
use crate::model::{Attachment, Owner};
use crate::refusal::{HoldRef, Refusal};

/// One address that is, or was, held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: IpNet,
    /// The address.
    pub ip: IpAddr,
    /// The even step.
    pub step: u32,
    /// Position of the allocate event.
    pub seq: u64,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Which range of the request.
    pub position: u16,
    /// Whose it is.
    pub attachment: Attachment,
    /// The pod.
    pub owner: Option<Owner>,
}

/// Which holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldQuery {
    /// Only of this space.
    pub space: Option<String>,
    /// As of this position; only with `space`.
    pub as_of: Option<u64>,
    /// As of what was recorded until then; not together with a position.
    pub at: Option<Timestamp>,
    /// Only of this cluster.
    pub cluster: Option<String>,
    /// Only of this CNI network.
    pub network: Option<String>,
    /// Only of pods in this namespace.
    pub namespace: Option<String>,
    /// Only of pods with this name.
    pub pod: Option<String>,
    /// Only of the pod with this UID.
    pub pod_uid: Option<String>,
    /// Only of this node.
    pub node: Option<String>,
    /// Only of this sandbox.
    pub container_id: Option<String>,
    /// Only this address.
    pub address: Option<IpAddr>,
    /// Only addresses in this range.
    pub range: Option<IpNet>,
    /// Only after this place.
    pub after: Option<(String, IpAddr)>,
    /// Positions that an earlier page of this reading showed.
    pub positions: Option<BTreeMap<String, u64>>,
    /// How many at most.
    pub limit: u32,
}

/// A page, all of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldPage {
    /// By space name and address.
    pub holds: Vec<Hold>,
    /// The positions that every page of this reading shows.
    pub as_of: BTreeMap<String, u64>,
    /// There are more.
    pub more: bool,
}

/// The state of each address at a position, see [`last_steps`]. So pages of one reading never tear,
/// however long the reader takes.
const PAGE_SQL: &str = concat!(
    "select a.ip, x.step, x.seq, (extract(epoch from x.recorded_at) * 1000000)::bigint
        as recorded_at_us, p.body",
    last_steps!(),
    " left join ipledger.payloads p on p.space_id = a.space_id and p.seq = x.seq
    cross join lateral (
        select case when a.seq > $2 then convert_from(p.body, 'UTF8')::jsonb end as old
    ) o
    where a.space_id = $1 and x.step % 2 = 0
        -- A reservation is nobody's.
        and p.kind is distinct from 'reserved'
        and ($13::inet is null or a.ip between $13 and $14)
        and ($3::inet is null or a.ip > $3) and ($4::inet is null or a.ip = $4)
        -- Whose it was is not here any more: told, and not left out.
        and (p.body is null
        or ($5::text is null or $5 = coalesce(o.old #>> '{attachment,cluster}', a.cluster))
        and ($6::text is null or $6 = coalesce(o.old #>> '{attachment,network}', a.network))
        and ($7::text is null or $7 = case when o.old is null then a.namespace
            else o.old #>> '{owner,namespace}' end)
        and ($8::text is null or $8 = case when o.old is null then a.pod
            else o.old #>> '{owner,name}' end)
        and ($9::text is null or $9 = case when o.old is null then a.pod_uid
            else o.old #>> '{owner,uid}' end)
        and ($10::text is null or $10 = case when o.old is null then a.node
            else o.old #>> '{owner,node}' end)
        and ($11::text is null
            or $11 = coalesce(o.old #>> '{attachment,container_id}', a.container_id)))
    order by a.ip limit $12"
);

impl Ledger {
    /// Holds now or as of a position, a page at a time.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Refusal::Invalid`] if the payloads of that time were moved
    /// away; [`Error::Unavailable`] without a database.
    pub async fn holds(&self, query: &HoldQuery) -> Result<HoldPage, Error> {
        let as_of = self.reading(query).await?;
        let limit = query.limit as usize;
        let mut holds = Vec::new();
        let after_space = query.after.as_ref().map(|(space, _)| space.as_str());
        for (space, &seq) in &as_of {
            if after_space.is_some_and(|after| space.as_str() < after) {
                continue;
            }
            let after = query
                .after
                .as_ref()
                .filter(|(of, _)| of == space)
                .map(|(_, ip)| *ip);
            let left = limit + 1 - holds.len();
            holds.extend(self.page(query, space, seq, after, left).await?);
            if holds.len() > limit {
                break;
            }
        }
        let more = holds.len() > limit;
        holds.truncate(limit);
        Ok(HoldPage { holds, as_of, more })
    }

    async fn reading(&self, query: &HoldQuery) -> Result<BTreeMap<String, u64>, Error> {
        if let Some(positions) = &query.positions {
            return Ok(positions.clone());
        }
        if let Some(at) = query.at {
            return self.positions_at(query.space.as_deref(), at).await;
        }
        let mut positions = self.positions(query.space.as_deref()).await?;
        if let Some(space) = &query.space {
            let head = positions
                .get_mut(space)
                .ok_or(Refusal::NoSuchSpace(space.clone()))?;
            if let Some(as_of) = query.as_of {
                *head = as_of.min(*head);
            }
        }
        Ok(positions)
    }

    async fn page(
        &self,
        query: &HoldQuery,
        space: &str,
        seq: u64,
        after: Option<IpAddr>,
        limit: usize,
    ) -> Result<Vec<Hold>, Error> {
        let space_id = self.space_id(space).await?;
        let found = sqlx::query(PAGE_SQL)
            .bind(space_id)
            .bind(rows::to_i64(seq))
            .bind(after.map(IpNet::from))
            .bind(query.address.map(IpNet::from))
            .bind(&query.cluster)
            .bind(&query.network)
            .bind(&query.namespace)
            .bind(&query.pod)
            .bind(&query.pod_uid)
            .bind(&query.node)
            .bind(&query.container_id)
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(query.range.map(|range| IpNet::from(range.network())))
            .bind(query.range.map(|range| IpNet::from(range.broadcast())))
            .fetch_all(&self.reads)
            .await?;
        let is_gone = |row: &PgRow| row.try_get_raw("body").is_ok_and(|body| body.is_null());
        if found.iter().any(is_gone) {
            return Err(payloads_gone("as_of", seq));
        }
        found.iter().map(|row| hold(space, row)).collect()
    }

    /// What an attachment holds now, in the order of its ranges. Never waits for the lane.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn lookup(&self, attachment: &Attachment) -> Result<Vec<Hold>, Error> {
        let [imported, without_ifname] = attachment.imported_keys();
        for key in [attachment.key(), imported, without_ifname] {
            let found = sqlx::query(
                "select s.name, a.ip, a.step, a.seq, p.body,
                    (extract(epoch from a.recorded_at) * 1000000)::bigint as recorded_at_us
                 from ipledger.addresses a
                 join ipledger.spaces s on s.id = a.space_id
                 join ipledger.payloads p on p.space_id = a.space_id and p.seq = a.seq
                 where a.attachment = $1 and a.step % 2 = 0 order by a.position",
            )
            .bind(key.to_be_bytes().to_vec())
            .fetch_all(&self.reads)
            .await?;
            if !found.is_empty() {
                return found
                    .iter()
                    .map(|row| hold(&row.try_get::<String, _>("name")?, row))
                    .collect();
            }
        }
        Ok(Vec::new())
    }

    /// Which field of a request differs from what its attachment holds.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn differing_field(
        &self,
        request: &Allocate,
        hold: &HoldRef,
    ) -> Result<String, Error> {
        let found = sqlx::query(
            "select p.body, exists (
                select from ipledger.space_members m
                where m.cluster = $3 and m.network_name = $4 and m.space_id in (s.id, s.parent)
             ) as same_network_name
             from ipledger.payloads p
             join ipledger.spaces s on s.id = p.space_id where s.name = $1 and p.seq = $2",
        )
        .bind(&hold.space)
        .bind(rows::to_i64(hold.seq))
        .bind(&request.space.cluster)
        .bind(&request.space.network_name)
        .fetch_optional(&self.reads)
        .await?;
        let Some(row) = found else {
            return Ok("ranges".to_owned());
        };
        let body: Vec<u8> = row.try_get("body")?;
        Ok(differing(
            request,
            &rows::payload(&body, &hold.space, hold.seq)?,
            row.try_get("same_network_name")?,
        ))
    }

    /// Whether this sandbox held the address of this network before and that has ended, whoever
    /// recorded it: by an import or by its own ADD. Old sources did not know the interface, so an
    /// empty one on either side matches any. In another network the address is another one.
    pub(in super::super) async fn ended_import(
        &self,
        import: &Import,
    ) -> Result<Option<(u32, u64)>, Error> {
        let found = sqlx::query(
            "select e.step, e.seq from ipledger.events e
             join ipledger.payloads p using (space_id, seq)
             where e.ip = $1 and e.step % 2 = 0 and p.kind = 'allocated'
                and e.space_id in (select s.id from ipledger.space_members m
                    join ipledger.spaces s on m.space_id in (s.id, s.parent)
                    where m.cluster = $4 and m.network_name = $5)
                and convert_from(p.body, 'UTF8')::jsonb @> $2
                and ($3 = '' or convert_from(p.body, 'UTF8')::jsonb #>> '{attachment,ifname}'
                    in ('', $3))
                and exists (select from ipledger.events n where n.space_id = e.space_id
                    and n.ip = e.ip and n.step = e.step + 1)
             order by e.step desc, e.space_id desc limit 1",
        )
        .bind(IpNet::from(import.ip))
        .bind(serde_json::json!({
            "attachment": {
                "cluster": import.space.cluster,
                "container_id": import.container_id,
            },
        }))
        .bind(import.ifname.as_deref().unwrap_or_default())
        .bind(&import.space.cluster)
        .bind(&import.space.network_name)
        .fetch_optional(&self.reads)
        .await?;
        found
            .map(|row| {
                Ok((
                    rows::step(&row, "step")?.unwrap_or(0),
                    rows::position(&row, "seq")?,
                ))
            })
            .transpose()
    }
}

/// The payloads of a time were moved away.
pub(super) fn payloads_gone(key: &str, seq: u64) -> Error {
    Error::Refused(Refusal::Invalid {
        key: key.to_owned(),
        value: seq.to_string(),
        problem: "is older than the payloads that are kept here".to_owned(),
    })
}

/// A hold from its row: ip, step, seq, `recorded_at_us` and the payload's body.
pub(super) fn hold(space: &str, row: &PgRow) -> Result<Hold, Error> {
    let seq = rows::position(row, "seq")?;
    let body: Vec<u8> = row.try_get("body")?;
    let payload = rows::payload(&body, space, seq)?;
    let inconsistent = |problem: &str| Error::Inconsistent {
        table: "payloads",
        row: format!("space {space} seq {seq}"),
        problem: problem.to_owned(),
    };
    let decision = payload
        .decision
        .ok_or_else(|| inconsistent("it has no decision record"))?;
    Ok(Hold {
        space: space.to_owned(),
        pool: decision.window.cidr,
        ip: rows::ip(row, "ip")?.ok_or_else(|| inconsistent("it has no address"))?,
        step: rows::step(row, "step")?.ok_or_else(|| inconsistent("it has no step"))?,
        seq,
        recorded_at: rows::time(row, "recorded_at_us")?,
        position: decision.position,
        attachment: payload
            .attachment
            .ok_or_else(|| inconsistent("it has no attachment"))?,
        owner: payload.owner,
    })
}

fn differing(request: &Allocate, stored: &Payload, same_network_name: bool) -> String {
    if !same_network_name {
        return "network_name".to_owned();
    }
    // The source recorded no request, and perhaps no owner: only the ranges were compared.
    if stored.reason == "import" {
        let imported = stored.decision.as_ref().map_or(&[][..], |d| &d.ips);
        let fits = |ip: &IpAddr| request.ranges.iter().any(|window| window.contains(*ip));
        let only_ips = !request.ips.is_empty() && imported.iter().all(fits);
        return if only_ips { "ips" } else { "ranges" }.to_owned();
    }
    if stored.owner.as_ref().map(|o| (&o.namespace, &o.name))
        != request.owner.as_ref().map(|o| (&o.namespace, &o.name))
    {
        return "owner".to_owned();
    }
    if stored.owner.as_ref().map(|o| &o.uid) != request.owner.as_ref().map(|o| &o.uid) {
        return "owner.uid".to_owned();
    }
    let Some(decision) = &stored.decision else {
        return "ranges".to_owned();
    };
    let position = usize::from(decision.position);
    if usize::from(decision.ranges) != request.ranges.len() {
        return "ranges".to_owned();
    }
    if request.ranges.get(position).is_some_and(|window| {
        let asked = WindowRecord::new(window, false);
        (asked.cidr, asked.first, asked.last, asked.exclude_digest)
            != (
                decision.window.cidr,
                decision.window.first,
                decision.window.last,
                decision.window.exclude_digest.clone(),
            )
    }) {
        return format!("ranges[{position}]");
    }
    if decision.ips != request.ips {
        return "ips".to_owned();
    }
    // Owner, network name and fixed addresses are equal, and so is this range: another one differs,
    // or what makes a range private.
    if decision.ranges > 1 {
        "ranges".to_owned()
    } else {
        "enable_overlapping_ranges".to_owned()
    }
}
