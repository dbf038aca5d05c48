//! Whole rows of the table `addresses`: as they are, and as the events alone would make them.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ledger::event::{Kind, Payload};
use ledger::model::Attachment;
use serde_json::{Map, Value, json};
use sqlx::{PgConnection, Row as _};

/// Whole rows by address; times in microseconds.
pub(crate) type Rows = BTreeMap<IpAddr, Value>;

/// Every column there is, but for what is no consequence of events: the calls that repeated an
/// allocate.
const SQL: &str = "
    select (to_jsonb(a) - 'called_boot_id' - 'called_boottime_ns' - 'call') || (
        select jsonb_object_agg(t.key, (extract(epoch from t.value::timestamptz) * 1000000)::bigint)
        from jsonb_each_text(to_jsonb(a)) t
        where t.key in ('recorded_at', 'allocated_at', 'released_at', 'cooling_until')
    ) || jsonb_build_object('keep', (
        select jsonb_build_array('\\x' || encode(k.name, 'hex'), k.seconds) from ipledger.keeps k
        where k.space_id = a.space_id and k.ip = a.ip and k.allocated_seq = a.allocated_seq
    )) as whole, a.ip
    from ipledger.addresses a join ipledger.spaces s on s.id = a.space_id where s.name = $1";

/// The rows of a space as they are, and its key.
pub(crate) async fn stored(
    connection: &mut PgConnection,
    space: &str,
) -> Result<(i32, Rows), sqlx::Error> {
    let id = sqlx::query_scalar("select id from ipledger.spaces where name = $1")
        .bind(space)
        .fetch_one(&mut *connection)
        .await?;
    let found = sqlx::query(SQL).bind(space).fetch_all(connection).await?;
    let row = |row: &sqlx::postgres::PgRow| {
        let ip: ipnet::IpNet = row.try_get("ip")?;
        Ok::<_, sqlx::Error>((ip.addr(), row.try_get("whole")?))
    };
    Ok((id, found.iter().map(row).collect::<Result<_, _>>()?))
}

/// Whether a release names the holder that the row has; a reservation has none.
pub(crate) fn names_the_holder(row: &Value, payload: &Payload) -> bool {
    if row["container_id"] == "" {
        return payload.attachment.is_none() && payload.ended.is_none();
    }
    let holder = match &payload.ended {
        Some(ended) => &ended.attachment,
        None => payload.attachment.as_ref().expect("a caller"),
    };
    row["attachment"] == json!(format!("\\x{:032x}", holder.key()))
}

/// Take one event into the rows.
pub(crate) fn apply(
    rows: &mut Rows,
    (space_id, space): (i32, &str),
    (ip, step): (IpAddr, u32),
    (seq, at_us): (u64, i64),
    payload: &Payload,
) {
    let row = match payload.kind {
        Kind::Allocated => allocated(space_id, ip, (seq, at_us), payload),
        Kind::Reserved => reserved((space_id, space), ip, (seq, at_us), payload),
        _ => {
            let mut row = rows.get(&ip).expect("it was allocated").clone();
            row["released_at"] = json!(at_us);
            let cooldown = row["cooldown_seconds"].as_i64().expect("seconds");
            if cooldown > 0 {
                row["cooling_until"] = json!(at_us + cooldown * 1_000_000);
            }
            row
        }
    };
    let mut row = row;
    row["step"] = json!(step);
    row["seq"] = json!(seq);
    row["recorded_at"] = json!(at_us);
    rows.insert(ip, row);
}

fn allocated(space_id: i32, ip: IpAddr, (seq, at_us): (u64, i64), payload: &Payload) -> Value {
    let attachment = payload.attachment.as_ref().expect("an attachment");
    let decision = payload.decision.as_ref().expect("a decision");
    let owner = payload.owner.as_ref();
    // The source of an import knew neither UID nor node.
    let owner_key = owner
        .filter(|_| payload.reason != "import")
        .and_then(|owner| owner.key(&attachment.cluster, &attachment.ifname));
    let content = payload.content.as_ref().map_or(0, |text| {
        u64::from_str_radix(text, 16).expect("hex").cast_signed()
    });
    let key = |key: u128| format!("\\x{key:032x}");
    let Attachment {
        cluster,
        container_id,
        ifname,
        network,
    } = attachment;
    let row = json!({
        "space_id": space_id, "ip": ip, "pool": decision.window.cidr,
        "allocated_seq": seq, "allocated_at": at_us,
        "attachment": key(attachment.key()), "owner": owner_key.map(key),
        "position": decision.position,
        "cluster": cluster, "network": network, "container_id": container_id, "ifname": ifname,
        "namespace": owner.map(|owner| &owner.namespace), "pod": owner.map(|owner| &owner.name),
        "pod_uid": owner.and_then(|owner| owner.uid.as_ref()),
        "node": owner.and_then(|owner| owner.node.as_ref()),
        "boot_id": payload.token.map(|token| token.boot_id),
        "boottime_ns": payload.token.map(|token| token.boottime_ns),
        "content": content,
        "cooldown_seconds": payload.cooldown_seconds.max(payload.sticky_seconds)
            .expect("an allocate has one"),
        "released_at": null, "cooling_until": null,
        "keep": payload.sticky_seconds.map(|seconds| {
            let owner = owner.expect("kept for a name");
            let parts = ["sticky", cluster, &owner.namespace, &owner.name, ifname];
            json!([key(ledger::event::encoding::key_of(&parts)), seconds])
        }),
    });
    row
}

/// An address that is set aside has no sandbox and no pod.
fn reserved(
    (space_id, space): (i32, &str),
    ip: IpAddr,
    (seq, at_us): (u64, i64),
    payload: &Payload,
) -> Value {
    let decision = payload.decision.as_ref().expect("a decision");
    let key = ledger::event::encoding::key_of(&["reservation", space, &ip.to_string()]);
    let content = payload.content.as_ref().expect("the reason's fingerprint");
    json!({
        "space_id": space_id, "ip": ip, "pool": decision.window.cidr,
        "allocated_seq": seq, "allocated_at": at_us,
        "attachment": format!("\\x{key:032x}"), "owner": null, "position": 0,
        "cluster": "", "network": "", "container_id": "", "ifname": "",
        "namespace": null, "pod": null, "pod_uid": null, "node": null,
        "boot_id": null, "boottime_ns": null,
        "content": u64::from_str_radix(content, 16).expect("hex").cast_signed(),
        "cooldown_seconds": payload.cooldown_seconds.expect("what is left of a rest"),
        "released_at": null, "cooling_until": null, "keep": null,
    })
}

/// The columns that differ, for a reader.
pub(crate) fn difference(here: &Rows, there: &Rows) -> Option<String> {
    if here == there {
        return None;
    }
    let nothing = Value::Object(Map::new());
    let ips = here.keys().chain(there.keys());
    for ip in ips {
        let (a, b) = (
            here.get(ip).unwrap_or(&nothing),
            there.get(ip).unwrap_or(&nothing),
        );
        let (a, b) = (a.as_object()?, b.as_object()?);
        for column in a.keys().chain(b.keys()) {
            if a.get(column) != b.get(column) {
                return Some(format!(
                    "{ip} {column}: the table has {:?}, the events make {:?}",
                    a.get(column),
                    b.get(column)
                ));
            }
        }
    }
    Some("rows differ".to_owned())
}
