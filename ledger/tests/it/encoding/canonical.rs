//! Whatever comes in, what is recorded is canonical: another program that reads a payload and
//! writes it by the rules gets the same bytes.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ledger::answer::AllocatedAddress;
use ledger::command::{Allocate, DeclareSpace, Import, Release, ReleaseHold};
use ledger::event::Payload;
use ledger::event::encoding::sorted;
use ledger::model::{Owner, Provenance};
use ledger::{Answer, Command, Error, Ledger};
use serde_json::{Map, Value};

use super::{program, recorded};
use crate::guard::sql::superuser;
use crate::support::{Bench, Random, WAIT, allocate, ip, provenance, release, token};

/// Parts of texts: what needs an escape, what does not, and what sorts differently in UTF-16.
const PIECES: [&str; 16] = [
    "a", "Z", "0", "\"", "\\", "/", "\n", "\u{1}", "\u{1f}", "\u{7f}", "é", "\u{2028}", "東",
    "\u{ff5e}", "🦀", " ",
];

const RANGES: [&str; 4] = [
    "10.0.0.0/26",
    "10.0.1.3-10.0.1.40/24",
    "2001:db8::/120",
    "2001:db8:1::/64",
];

/// Space, address and step of a hold.
type Held = (String, IpAddr, u32);

/// Random commands, and the holds that they led to.
struct Teller(Random, Vec<Held>);

impl Teller {
    fn chance(&mut self, percent: u64) -> bool {
        self.0.below(100) < percent
    }

    fn text(&mut self) -> String {
        let length = 1 + self.0.below(6);
        (0..length).map(|_| self.pick(&PIECES)).collect()
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        let bound = u64::try_from(among.len()).expect("a few");
        among[usize::try_from(self.0.below(bound)).expect("a few")]
    }

    fn value(&mut self, depth: u32) -> Value {
        match self.0.below(if depth == 0 { 5 } else { 7 }) {
            0 => Value::Null,
            1 => Value::from(self.chance(50)),
            2 => Value::from(self.0.number()),
            3 => Value::from(self.0.number().cast_signed()),
            4 => Value::from(self.text()),
            5 => (0..self.0.below(4))
                .map(|_| self.value(depth - 1))
                .collect(),
            _ => Value::Object(self.object(depth - 1)),
        }
    }

    fn object(&mut self, depth: u32) -> Map<String, Value> {
        (0..self.0.below(5))
            .map(|_| (self.text(), self.value(depth)))
            .collect()
    }

    fn provenance(&mut self) -> Provenance {
        let mut given = provenance();
        given.request_id = self.text();
        given.actor.name = self.text();
        given.claimed_at = self.chance(50).then(|| {
            let at = self.0.below(4_000_000_000_000_000).cast_signed();
            jiff::Timestamp::from_microsecond(at - 1_000_000_000_000_000).expect("a time")
        });
        given
    }

    fn owner(&mut self, pod: u64) -> Option<Owner> {
        self.chance(85).then(|| Owner {
            name: format!("pod-{pod}"),
            namespace: self.text(),
            node: self.chance(70).then(|| "node-é".to_owned()),
            uid: self.chance(70).then(|| format!("uid \"{pod}\"")),
        })
    }

    fn allocate(&mut self, time: u64) -> Allocate {
        let pod = self.0.below(12);
        let mut request = allocate(&format!("c{}", self.0.below(60)), RANGES[0]);
        request.owner = self.owner(pod);
        request.token = self.chance(80).then(|| token(1, time));
        request.cooldown_seconds = u32::try_from(self.0.below(3)).expect("small") * 100;
        request.cluster_uid = self.chance(10).then(|| "cluster-uid".to_owned());
        request.space.network_name = self.pick(&["", "blue", "größe"]).to_owned();
        request.space.overlapping = self.chance(80);
        let count = 1 + self.0.below(2);
        request.ranges = (0..count).map(|_| self.window()).collect();
        request.provenance = self.provenance();
        request
    }

    fn window(&mut self) -> address::Window {
        let range = self.pick(&RANGES);
        let prefix = if range.contains(':') {
            "2001:db8::"
        } else {
            "10.0.0."
        };
        let parts = self.pick(&[0, 2, 17]);
        let exclude: Vec<String> = (1..=parts).map(|n| format!("{prefix}{}", n * 2)).collect();
        let (range_start, range_end) = (None, None);
        address::Window::parse(&address::WindowText {
            range,
            range_start,
            range_end,
            exclude: &exclude,
        })
        .expect("a window")
    }

    fn release(&mut self, time: u64) -> Release {
        let mut request = release(&format!("c{}", self.0.below(60)));
        let pod = self.0.below(12);
        request.owner = self.owner(pod);
        request.token = self.chance(50).then(|| token(1, time));
        request.provenance = self.provenance();
        request
    }

    /// The last hold that was made, if it still stands.
    fn release_hold(&mut self) -> ReleaseHold {
        let (space, ip, step) = self.1.pop().unwrap_or(("none".to_owned(), ip("::"), 0));
        ReleaseHold {
            space,
            ip,
            step,
            reason: self.text(),
            evidence: self.object(3),
            provenance: self.provenance(),
        }
    }

    fn import(&mut self) -> Import {
        let number = self.0.below(60_000);
        let pod = self.0.below(12);
        Import {
            cluster_uid: None,
            space: allocate("import", RANGES[0]).space,
            pool: "10.7.0.0/16".parse().expect("a CIDR"),
            ip: ip(&format!("10.7.{}.{}", number / 250, 1 + number % 250)),
            container_id: self.text(),
            ifname: self.chance(50).then(|| self.text()),
            owner: self.owner(pod),
            evidence: self.object(3),
            ended_before: None,
            provenance: self.provenance(),
        }
    }

    fn declare(&mut self) -> DeclareSpace {
        DeclareSpace {
            name: format!("shared:{}", self.0.below(1000)),
            members: vec![(self.text(), self.text())],
            provenance: self.provenance(),
        }
    }

    async fn step(&mut self, ledger: &Ledger, time: u64) {
        let command = match self.0.below(20) {
            0..10 => Command::Allocate(Box::new(self.allocate(time))),
            10..14 => Command::Release(Box::new(self.release(time))),
            14..17 => Command::ReleaseHold(Box::new(self.release_hold())),
            17..19 => Command::Import(Box::new(self.import())),
            _ => Command::DeclareSpace(Box::new(self.declare())),
        };
        match ledger.execute(command, WAIT).await {
            Ok(Answer::Allocated(allocated)) => {
                let hold = |address: AllocatedAddress| {
                    Some((address.space, address.ip, address.receipt?.step))
                };
                self.1
                    .extend(allocated.addresses.into_iter().filter_map(hold));
            }
            // Some of it does not fit what came before.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn every_payload_is_canonical() {
    let bench = Bench::new().await;
    let mut teller = Teller(Random::new(1_117), Vec::new());
    for time in 1..=600 {
        teller.step(&bench.ledger, time).await;
    }
    let observer = superuser(&bench.database).await;
    let events = recorded::read(&observer).await;
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for event in &events {
        let text = std::str::from_utf8(&event.body).expect("UTF-8");
        let read: Map<String, Value> = serde_json::from_str(text).expect("an object");
        let written = serde_json::to_string(&sorted(&read)).expect("JSON");
        assert_eq!(written, text, "{} {}", event.space, event.seq);
        let payload: Payload = serde_json::from_str(text).expect("a payload");
        assert_eq!(
            payload.encode(),
            event.body,
            "{} {}",
            event.space,
            event.seq
        );
        *seen
            .entry(format!("{} {}", event.kind, why(&payload)))
            .or_default() += 1;
    }
    let kinds = [
        "allocated add",
        "allocated import",
        "allocated takeover",
        "cluster_bound first contact",
        "released by hand",
        "released del",
        "released takeover",
        "space_declared declared shared",
    ];
    assert_eq!(seen.keys().collect::<Vec<_>>(), kinds, "{seen:?}");
    let mut spaces: Vec<&str> = events.iter().map(|event| event.space.as_str()).collect();
    spaces.dedup();
    let mut shown = Vec::new();
    for space in spaces {
        shown.push(recorded::shown(&bench.ledger, space).await);
    }
    let (accepted, told) = program::check(&[], &shown);
    assert!(accepted, "{told}");
    assert!(
        told.contains(&format!("0 differences in {} events", events.len())),
        "{told}"
    );
    bench.ledger.close().await;
}

fn why(payload: &Payload) -> &str {
    match payload.reason.as_str() {
        known @ ("add" | "del" | "takeover" | "import" | "first contact" | "declared shared") => {
            known
        }
        _ => "by hand",
    }
}
