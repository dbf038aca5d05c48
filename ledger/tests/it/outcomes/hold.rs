use ledger::answer::{HoldReleased, ImportOutcome, Imported};
use ledger::command::{Import, ReleaseHold, SpaceSelector};
use ledger::{Answer, Command, Error, Ledger};

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, del, ip, provenance, release};

async fn end(ledger: &Ledger, space: &str, step: u32) -> Result<HoldReleased, Error> {
    let request = ReleaseHold {
        space: space.to_owned(),
        ip: ip("10.0.0.1"),
        step,
        reason: "pod gone".to_owned(),
        evidence: serde_json::Map::new(),
        provenance: provenance(),
    };
    match ledger
        .execute(Command::ReleaseHold(Box::new(request)), WAIT)
        .await?
    {
        Answer::HoldReleased(released) => Ok(released),
        other => panic!("not a release of a hold: {other:?}"),
    }
}

fn unfit() -> [serde_json::Value; 3] {
    use serde_json::json;
    [
        json!({"pod": {"phases": [1, 2.5]}}),
        json!({"text": "a\0b"}),
        json!({"key\0": 1}),
    ]
}

#[tokio::test]
async fn hold_cluster_mismatch() {
    let bench = Bench::new().await;
    super::cluster::bind(&bench, "uid-a").await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    let of = |uid: &str, evidence: &serde_json::Value| {
        let request = ReleaseHold {
            space: "prod".to_owned(),
            ip: ip("10.0.0.1"),
            step: 0,
            reason: "pod gone".to_owned(),
            evidence: evidence.as_object().expect("an object").clone(),
            provenance: provenance(),
        };
        let (ledger, uid) = (bench.ledger.clone(), uid.to_owned());
        async move { ledger.release_hold(request, Some(&uid), WAIT).await }
    };
    // The evidence cannot be recorded either.
    assert_eq!(kind(of("uid-b", &unfit()[0]).await), "cluster_mismatch");
    let none = serde_json::json!({});
    let ended = of("uid-a", &none).await.unwrap();
    assert!(!ended.repeated);
    // It is the hold's cluster that counts, also after its end.
    assert_eq!(kind(of("uid-b", &none).await), "cluster_mismatch");
    assert!(of("uid-a", &none).await.unwrap().repeated);
}

#[tokio::test]
async fn hold_evidence_that_cannot_be_recorded() {
    let bench = Bench::new().await;
    for evidence in unfit() {
        // There is no such space either.
        let request = ReleaseHold {
            space: "nowhere".to_owned(),
            ip: ip("10.0.0.1"),
            step: 0,
            reason: "pod gone".to_owned(),
            evidence: evidence.as_object().expect("an object").clone(),
            provenance: provenance(),
        };
        let request = Command::ReleaseHold(Box::new(request));
        let refused = bench.ledger.execute(request, WAIT).await;
        assert_eq!(kind(refused), "invalid_request", "{evidence}");
    }
}

#[tokio::test]
async fn hold_no_such_space() {
    let bench = Bench::new().await;
    assert_eq!(kind(end(&bench.ledger, "nowhere", 0).await), "not_found");
}

#[tokio::test]
async fn hold_released() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    let ended = end(&bench.ledger, "prod", 0).await.unwrap();
    assert_eq!((ended.released.receipt.step, ended.repeated), (1, false));
}

#[tokio::test]
async fn hold_release_repeated() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    let first = end(&bench.ledger, "prod", 0).await.unwrap();
    let again = end(&bench.ledger, "prod", 0).await.unwrap();
    assert!(again.repeated);
    assert_eq!(again.released, first.released);
    assert_eq!(events(&bench).await, 2);
}

#[tokio::test]
async fn hold_step_mismatch() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    add(&bench.ledger, allocate("c2", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(kind(end(&bench.ledger, "prod", 0).await), "step_mismatch");
    assert_eq!(events(&bench).await, 3, "the living hold stands");
}

pub(super) fn entry(address: &str) -> Import {
    Import {
        cluster_uid: None,
        space: SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        pool: "10.0.0.0/24".parse().expect("a CIDR"),
        ip: ip(address),
        container_id: "imported".to_owned(),
        ifname: Some("net1".to_owned()),
        owner: None,
        evidence: serde_json::Map::new(),
        ended_before: None,
        provenance: provenance(),
    }
}

async fn import(bench: &Bench, address: &str) -> Result<Imported, Error> {
    bench.ledger.import(entry(address), WAIT).await
}

#[tokio::test]
async fn import_cluster_mismatch() {
    let bench = Bench::new().await;
    super::cluster::bind(&bench, "uid-a").await;
    let mut first = allocate("c1", "10.0.0.0/24");
    first.space.overlapping = false;
    add(&bench.ledger, first).await.unwrap();
    // The range is another space's as well.
    let foreign = Import {
        cluster_uid: Some("uid-b".to_owned()),
        ..entry("10.0.0.9")
    };
    let refused = bench.ledger.import(foreign.clone(), WAIT).await;
    assert_eq!(kind(refused), "cluster_mismatch");
    let own = Import {
        cluster_uid: Some("uid-a".to_owned()),
        ..foreign
    };
    let own = bench.ledger.import(own, WAIT).await;
    assert_eq!(kind(own), "space_conflict");
}

#[tokio::test]
async fn import_space_conflict() {
    let bench = Bench::new().await;
    let mut first = allocate("c1", "10.0.0.0/24");
    first.space.overlapping = false;
    add(&bench.ledger, first).await.unwrap();
    assert_eq!(kind(import(&bench, "10.0.0.1").await), "space_conflict");
}

#[tokio::test]
async fn import_held() {
    let bench = Bench::new().await;
    let first = import(&bench, "10.0.0.1").await.unwrap();
    let again = import(&bench, "10.0.0.1").await.unwrap();
    assert_eq!(
        again,
        Imported {
            outcome: ImportOutcome::Held,
            ..first
        }
    );
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn import_ended() {
    let bench = Bench::new().await;
    import(&bench, "10.0.0.1").await.unwrap();
    end(&bench.ledger, "prod", 0).await.unwrap();
    // Somebody else has the address by now, which would be a refusal.
    add(&bench.ledger, allocate("c2", "10.0.0.0/24"))
        .await
        .unwrap();
    let again = import(&bench, "10.0.0.1").await.unwrap();
    assert_eq!(again.outcome, ImportOutcome::Ended);
    assert_eq!(events(&bench).await, 3);
}

#[tokio::test]
async fn import_ended_whatever_the_source_knew_of_the_interface() {
    for (first, second) in [(None, Some("net1")), (Some("net1"), None)] {
        let bench = Bench::new().await;
        let of = |ifname: Option<&str>| Import {
            ifname: ifname.map(str::to_owned),
            ..entry("10.0.0.1")
        };
        bench.ledger.import(of(first), WAIT).await.unwrap();
        end(&bench.ledger, "prod", 0).await.unwrap();
        let again = bench.ledger.import(of(second), WAIT).await.unwrap();
        assert_eq!(
            again.outcome,
            ImportOutcome::Ended,
            "{first:?} then {second:?}"
        );
    }
}

#[tokio::test]
async fn import_ended_by_the_del_of_a_sandbox_that_came_by_add() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    // A leftover of our own projection, or of the incumbent's pool.
    let leftover = Import {
        container_id: "c1".to_owned(),
        ..entry("10.0.0.1")
    };
    let answer = bench.ledger.import(leftover, WAIT).await.unwrap();
    assert_eq!(answer.outcome, ImportOutcome::Ended);
}

#[tokio::test]
async fn import_address_taken() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(kind(import(&bench, "10.0.0.1").await), "address_taken");
}

#[tokio::test]
async fn import_address_cooling() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", "10.0.0.0/24");
    request.cooldown_seconds = 3600;
    add(&bench.ledger, request).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    assert_eq!(kind(import(&bench, "10.0.0.1").await), "address_cooling");
}

#[tokio::test]
async fn import_invalid() {
    let bench = Bench::new().await;
    assert_eq!(kind(import(&bench, "10.0.1.1").await), "invalid_request");
    let everything = Import {
        pool: "0.0.0.0/0".parse().expect("a CIDR"),
        ..entry("10.0.0.1")
    };
    let refused = bench.ledger.import(everything, WAIT).await;
    assert_eq!(kind(refused), "invalid_request");
    let spaces = bench.ledger.spaces().await.expect("spaces");
    assert!(spaces.is_empty(), "nothing was opened for it");
}

#[tokio::test]
async fn import_evidence_that_cannot_be_recorded() {
    let bench = Bench::new().await;
    let mut private = allocate("c1", "10.0.0.0/24");
    private.space.overlapping = false;
    add(&bench.ledger, private).await.unwrap();
    for evidence in unfit() {
        // The range is private as well, which would be a conflict.
        let import = Import {
            evidence: evidence.as_object().expect("an object").clone(),
            ..entry("10.0.0.9")
        };
        let refused = bench.ledger.import(import, WAIT).await;
        assert_eq!(kind(refused), "invalid_request", "{evidence}");
    }
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn import_imported() {
    let bench = Bench::new().await;
    let imported = import(&bench, "10.0.0.7").await.unwrap();
    assert_eq!(
        (imported.outcome, imported.step),
        (ImportOutcome::Imported, 0)
    );
    assert_eq!(events(&bench).await, 1);
}
