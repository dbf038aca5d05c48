//! A story that always leads to the same payloads: no clock and no chance comes into them.

use jiff::Timestamp;
use ledger::command::{Allocate, BindCluster, DeclareSpace, Import, ReleaseHold, SpaceSelector};
use ledger::model::{Actor, Attachment, Owner, Provenance};
use ledger::{Answer, Command, Ledger};
use serde_json::{Map, Value, json};

use crate::support::{WAIT, add, allocate, del, ip, release, token, window};

const BOOT: u128 = 0x3f2a_55d0_9c1e_4b7d_8a61_0f5e_2b94_c7d3;

fn provenance(request_id: &str) -> Provenance {
    Provenance {
        request_id: request_id.to_owned(),
        actor: Actor {
            authenticated_by: "unix peer uid 0".to_owned(),
            name: "ipledger-cni 0.1.0".to_owned(),
        },
        claimed_at: None,
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("not an object: {other}"),
    }
}

/// What is hardest to write alike: order of keys, every kind of escape, what needs none, limits.
fn hard_evidence() -> Map<String, Value> {
    object(json!({
        "zone": "größe 東京 🦀",
        "a": {"z": [1, -1, [], {}], "B": null, "b": true, "": false},
        "controls": "\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f}\u{7f}\u{80}\u{2028}",
        "marks": "\" \\ / ' < > &",
        "numbers": [0, i64::MIN, u64::MAX, 9_007_199_254_740_993_u64],
        "\u{e9}": "é in one",
        "e\u{301}": "é in two",
        "\u{ff5e}": "before the next in UTF-8, after it in UTF-16",
        "\u{1f980}": "crab",
    }))
}

/// The first pod's request: one range with exclusions, and everything that may be absent.
pub(super) fn first_request() -> Allocate {
    let exclude = ["10.10.3.0/30", "10.10.3.9", "10.10.3.4-10.10.3.5"].map(str::to_owned);
    let text = address::WindowText {
        range: "10.10.3.0/24",
        range_start: None,
        range_end: Some("10.10.3.99"),
        exclude: &exclude,
    };
    let mut request = allocate("4fe2a1", "10.10.3.0/24");
    request.ranges = vec![address::Window::parse(&text).expect("a window")];
    request.cluster_uid = Some("0d5d7a5e-6c1e-4b7e-9f53-3f1f5a3c2b10".to_owned());
    request.cooldown_seconds = 30;
    request.token = Some(token(BOOT, 1_000_000_001));
    request.provenance = provenance("first");
    request.provenance.claimed_at =
        Some(Timestamp::from_microsecond(1_700_000_000_123_456).expect("a time"));
    request
}

/// The second pod's request: two families, fixed addresses, no UID; the node is known.
pub(super) fn dual_request(container: &str, boottime_ns: u64) -> Allocate {
    let mut request = allocate(container, "10.10.3.0/24");
    request.ranges = vec![
        window("10.10.4.0/24", None, None),
        window("2001:db8::/64", None, None),
    ];
    request.ips = vec![ip("2001:db8::abcd"), ip("10.10.4.7")];
    request.owner = Some(Owner {
        name: "db-0".to_owned(),
        namespace: "größe".to_owned(),
        node: Some("node-1".to_owned()),
        uid: None,
    });
    request.token = Some(token(BOOT, boottime_ns));
    request.provenance = provenance("second");
    request
}

/// A window with a long list of exclusions, in a private space.
fn long_request(container: &str) -> Allocate {
    let exclude: Vec<String> = (1..=20).map(|n| format!("10.9.0.{}", n * 2)).collect();
    let text = address::WindowText {
        range: "10.9.0.0/24",
        range_start: None,
        range_end: None,
        exclude: &exclude,
    };
    let mut request = allocate(container, "10.9.0.0/24");
    request.ranges = vec![address::Window::parse(&text).expect("a window")];
    request.space.network_name = "blue".to_owned();
    request.space.overlapping = false;
    request.owner = None;
    request.provenance = provenance("long");
    request
}

/// Tell it to an empty ledger.
pub(super) async fn tell(ledger: &Ledger) {
    execute(ledger, declare()).await;
    execute(ledger, bind_other()).await;
    add(ledger, first_request()).await.expect("the first pod");
    add(ledger, dual_request("77aa01", 2_000_000_000))
        .await
        .expect("the second pod");
    // A newer sandbox of the second pod takes its addresses over.
    add(ledger, dual_request("77aa02", 3_000_000_000))
        .await
        .expect("a takeover");
    let mut freed = release("4fe2a1");
    freed.owner = first_request().owner;
    freed.token = Some(token(BOOT, 4_000_000_000));
    freed.provenance = provenance("third");
    del(ledger, freed).await.expect("a release");
    execute(ledger, free_hold()).await;
    ledger.import(old_hold(), WAIT).await.expect("an import");
    for container in ["long-1", "long-2"] {
        add(ledger, long_request(container))
            .await
            .expect("many exclusions");
    }
}

async fn execute(ledger: &Ledger, command: Command) -> Answer {
    ledger.execute(command, WAIT).await.expect("an answer")
}

fn declare() -> Command {
    let members = [("prod", "vlan7"), ("test", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    Command::DeclareSpace(Box::new(DeclareSpace {
        name: "shared:vlan7".to_owned(),
        members: members.to_vec(),
        provenance: provenance("declare"),
    }))
}

fn bind_other() -> Command {
    Command::BindCluster(Box::new(BindCluster {
        cluster: "test".to_owned(),
        uid: "7b1c4d92-08aa-4f0e-b7a4-5d1f0c6e9a21".to_owned(),
        provenance: provenance("bind"),
    }))
}

fn free_hold() -> Command {
    Command::ReleaseHold(Box::new(ReleaseHold {
        space: "prod".to_owned(),
        ip: ip("2001:db8::abcd"),
        step: 2,
        reason: "the node \"node-1\" is gone\n(größe)".to_owned(),
        evidence: hard_evidence(),
        provenance: provenance("fourth"),
    }))
}

fn old_hold() -> Import {
    Import {
        cluster_uid: None,
        space: SpaceSelector {
            cluster: "test".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        pool: "10.20.0.0/16".parse().expect("a CIDR"),
        ip: ip("10.20.0.5"),
        container_id: "9c0ffee".to_owned(),
        ifname: None,
        owner: Some(Owner {
            name: "web-1".to_owned(),
            namespace: "default".to_owned(),
            node: None,
            uid: None,
        }),
        evidence: object(json!({
            "resource": "ippools/10.20.0.0-16",
            "resource_version": "81723",
            "offset": 5,
        })),
        ended_before: None,
        provenance: provenance("import"),
    }
}

/// The attachment that the import is filed under.
pub(super) fn imported_attachment() -> Attachment {
    Attachment {
        cluster: "test".to_owned(),
        container_id: "9c0ffee".to_owned(),
        ifname: String::new(),
        network: String::new(),
    }
}
