//! Whose hold a release ends, when it is not the holder's own: memory has only keys of holders, so
//! their names are read from the table.

use std::collections::HashMap;
use std::net::IpAddr;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::super::append::to_u64;
use super::super::connection::{Connection, classify};
use super::super::lane::Lane;
use super::Flight;
use crate::decide::{Change, NewEvent};
use crate::error::Error;
use crate::event::Ended;
use crate::model::{Attachment, Owner};

/// Rows by their whole key, whatever the planner knows.
const SQL: &str = "\
    select a.space_id, a.ip, a.allocated_seq, a.cluster, a.network, a.container_id, a.ifname, \
        a.namespace, a.pod, a.pod_uid, a.node \
    from unnest($1, $2) w (space_id, ip) \
    cross join lateral (select * from ipledger.addresses x \
        where x.space_id = w.space_id and x.ip = w.ip limit 1) a";

impl Lane {
    /// Which of these releases end another's hold. They are not applied yet.
    pub(super) fn unnamed(&self, events: &[NewEvent]) -> impl Iterator<Item = usize> {
        let others = |event: &NewEvent| {
            let (ip, _) = event
                .target
                .filter(|_| matches!(event.change, Change::Free))?;
            let record = self.state.record_of(event.space, ip)?;
            let caller = event.payload.attachment.as_ref().map(Attachment::key);
            // A reservation was nobody's.
            (record.is_held() && caller != Some(record.attachment)).then_some(())
        };
        (0..events.len()).filter(move |&index| others(&events[index]).is_some())
    }

    /// Write into the releases of a flight whose holds they end. On the lane's own connection, so
    /// what is on its way is seen.
    pub(super) async fn name_ended(
        &self,
        connection: &Connection,
        flight: &mut Flight,
    ) -> Result<(), Error> {
        let unnamed = std::mem::take(&mut flight.unnamed);
        let mut sought = Vec::with_capacity(unnamed.len());
        for index in unnamed {
            match begun_here(&flight.events, index) {
                Some(ended) => flight.events[index].0.payload.ended = Some(ended),
                None => sought.push(index),
            }
        }
        if sought.is_empty() {
            return Ok(());
        }
        let place = |index: usize| {
            let (event, _) = &flight.events[index];
            let (ip, _) = event.target.expect("a release has an address");
            (self.state.spaces.get(event.space).id, ip)
        };
        let places: Vec<(i32, IpAddr)> = sought.iter().map(|&index| place(index)).collect();
        let (spaces, ips): (Vec<i32>, Vec<IpAddr>) = places.iter().copied().unzip();
        let rows = connection
            .client
            .query_typed(
                SQL,
                &[(&spaces, Type::INT4_ARRAY), (&ips, Type::INET_ARRAY)],
            )
            .await
            .map_err(|e| classify(&e))?;
        let found: HashMap<(i32, IpAddr), &Row> = rows
            .iter()
            .map(|row| ((row.get(0), row.get(1)), row))
            .collect();
        for (index, place) in sought.into_iter().zip(places) {
            let payload = &mut flight.events[index].0.payload;
            // Another row: somebody else was first, and this flight will not land.
            payload.ended = found
                .get(&place)
                .filter(|row| Some(to_u64(row.get(2))) == payload.ends_seq)
                .map(|row| ended(row));
        }
        Ok(())
    }
}

/// The holder, if its allocate is in the same batch.
fn begun_here(events: &[(NewEvent, u64)], index: usize) -> Option<Ended> {
    let (release, _) = &events[index];
    let ends_seq = release.payload.ends_seq?;
    let begun = |(event, seq): &&(NewEvent, u64)| event.space == release.space && *seq == ends_seq;
    let (begun, _) = events[..index].iter().rev().find(begun)?;
    Some(Ended {
        attachment: begun.payload.attachment.clone()?,
        owner: begun.payload.owner.clone(),
    })
}

fn ended(row: &Row) -> Ended {
    let pod = row
        .get::<_, Option<String>>(7)
        .zip(row.get::<_, Option<String>>(8));
    Ended {
        attachment: Attachment {
            cluster: row.get(3),
            network: row.get(4),
            container_id: row.get(5),
            ifname: row.get(6),
        },
        owner: pod.map(|(namespace, name)| Owner {
            name,
            namespace,
            node: row.get(10),
            uid: row.get(9),
        }),
    }
}
