//! The rows of a call, as `migrations/0005_append.sql` names their types.

use std::error::Error;
use std::net::IpAddr;

use ipnet::IpNet;
use postgres_types::private::BytesMut;
use postgres_types::{IsNull, ToSql, Type, to_sql_checked};
use uuid::Uuid;

use super::to_i64;
use crate::decide::{HoldChange, NewEvent};
use crate::model::Attachment;

#[derive(Debug, ToSql)]
#[postgres(name = "new_event")]
pub(super) struct NewEventRow {
    pub(super) space_id: i32,
    pub(super) ip: Option<IpAddr>,
    pub(super) step: Option<i32>,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

#[derive(Debug, ToSql)]
#[postgres(name = "freed_address")]
pub(super) struct FreedAddress {
    pub(super) space_id: i32,
    pub(super) ip: IpAddr,
    pub(super) step: i32,
    pub(super) seq: i64,
}

#[derive(Debug, ToSql)]
#[postgres(name = "held_address")]
pub(super) struct HeldAddress {
    space_id: i32,
    ip: IpAddr,
    step: i32,
    seq: i64,
    pool: Cidr,
    allocated_seq: i64,
    attachment: Vec<u8>,
    owner: Option<Vec<u8>>,
    position: i16,
    cluster: String,
    network: String,
    container_id: String,
    ifname: String,
    namespace: Option<String>,
    pod: Option<String>,
    pod_uid: Option<String>,
    node: Option<String>,
    boot_id: Option<Uuid>,
    boottime_ns: Option<i64>,
    content: i64,
    cooldown_seconds: i32,
}

impl HeldAddress {
    /// Space, address, step and position as they are now, and the event that made the hold.
    pub(super) fn new(
        (space_id, ip, step, seq): (i32, IpAddr, i32, i64),
        event: &NewEvent,
        hold: &HoldChange,
        allocated_seq: i64,
    ) -> HeldAddress {
        // A reservation has no attachment, and its texts are empty.
        let attachment = event.payload.attachment.as_ref();
        let text = |of: fn(&Attachment) -> &String| attachment.map(of).cloned().unwrap_or_default();
        let owner = event.payload.owner.as_ref();
        HeldAddress {
            space_id,
            ip,
            step,
            seq,
            pool: Cidr(hold.window.cidr()),
            allocated_seq,
            attachment: hold.attachment.to_be_bytes().to_vec(),
            owner: hold.owner.map(|key| key.to_be_bytes().to_vec()),
            position: i16::try_from(hold.position).expect("a request has few ranges"),
            cluster: text(|attachment| &attachment.cluster),
            network: text(|attachment| &attachment.network),
            container_id: text(|attachment| &attachment.container_id),
            ifname: text(|attachment| &attachment.ifname),
            namespace: owner.map(|owner| owner.namespace.clone()),
            pod: owner.map(|owner| owner.name.clone()),
            pod_uid: owner.and_then(|owner| owner.uid.clone()),
            node: owner.and_then(|owner| owner.node.clone()),
            boot_id: hold.token.map(|token| token.boot_id),
            boottime_ns: hold.token.map(|token| to_i64(token.boottime_ns)),
            content: hold.content.cast_signed(),
            cooldown_seconds: i32::try_from(hold.rest_seconds).unwrap_or(i32::MAX),
        }
    }
}

/// The driver knows `inet`, not `cidr`, which crosses in the same form.
#[derive(Debug)]
struct Cidr(IpNet);

impl ToSql for Cidr {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        postgres_protocol::types::inet_to_sql(self.0.network(), self.0.prefix_len(), out);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        *ty == Type::CIDR
    }

    to_sql_checked!();
}
