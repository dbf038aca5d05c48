//! A ledger that was loaded answers as the one that wrote what it loaded.

use ledger::command::{Allocate, BindCluster, Count, SpaceSelector};
use ledger::{Answer, Command, Ledger};

use crate::guard::sql::{superuser, text};
use crate::support::{
    Bench, WAIT, add, allocate, attachment, del, ip, open, owner, provenance, release, token,
    window,
};

const BOOT_1: u128 = 0xb001;
const BOOT_2: u128 = 0xb002;

/// An allocate by this pod with a token.
fn by(container: &str, uid: &str, range: &str, boot: u128, boottime_ns: u64) -> Allocate {
    let mut request = allocate(container, range);
    request.owner = Some(owner("pod", uid));
    request.token = Some(token(boot, boottime_ns));
    request
}

/// Everything that memory keeps: windows with exclusions, cool-downs, takeovers, boots in an order
/// that is not theirs by name, a tombstone, releases of moments ago, a private and a second space,
/// both families, a bound cluster.
async fn write_history(ledger: &Ledger) {
    let mut first = by("a1", "uid-a", "10.0.0.0/24", BOOT_2, 900);
    first.cluster_uid = Some("kube-system-uid".to_owned());
    add(ledger, first).await.expect("an address");
    // The same pod in a newer sandbox, on a boot that is seen later.
    add(ledger, by("a2", "uid-a", "10.0.0.0/24", BOOT_1, 5))
        .await
        .expect("an address");
    let mut narrow = by("b1", "uid-b", "10.0.0.0/24", BOOT_1, 6);
    narrow.ranges = vec![window("10.0.0.0/24", Some("10.0.0.10"), Some("10.0.0.12"))];
    narrow.cooldown_seconds = 3_600;
    add(ledger, narrow).await.expect("an address");
    let mut gone = release("b1");
    gone.owner = Some(owner("pod", "uid-b"));
    gone.token = Some(token(BOOT_1, 7));
    del(ledger, gone).await.expect("a release");
    let mut dual = by("c1", "uid-c", "10.1.0.0/16", BOOT_1, 8);
    dual.ranges.push(window("2001:db8::/64", None, None));
    add(ledger, dual).await.expect("an address");
    let mut private = by("d1", "uid-d", "10.2.0.0/24", BOOT_1, 9);
    private.space.overlapping = false;
    add(ledger, private).await.expect("an address");
    let mut blue = by("e1", "uid-e", "10.0.0.0/24", BOOT_1, 10);
    blue.space.network_name = "blue".to_owned();
    add(ledger, blue).await.expect("an address");
    let mut freed = by("f1", "uid-f", "10.0.0.0/24", BOOT_1, 11);
    freed.cooldown_seconds = 0;
    add(ledger, freed).await.expect("an address");
    let mut gone = release("f1");
    gone.owner = Some(owner("pod", "uid-f"));
    gone.token = Some(token(BOOT_1, 20));
    del(ledger, gone).await.expect("a release");
    let mut never_there = release("g1");
    never_there.owner = Some(owner("pod", "uid-g"));
    never_there.token = Some(token(BOOT_1, 30));
    let told = del(ledger, never_there).await.expect("a tombstone");
    assert!(told.released.is_empty());
}

/// Commands that append nothing, and that together touch all that memory keeps.
fn probes() -> Vec<(&'static str, Command)> {
    let probe = |mut request: Allocate| {
        request.dry_run = true;
        Command::Allocate(Box::new(request))
    };
    let fixed = |text: &str| {
        let mut request = allocate("fixed", "10.0.0.0/24");
        request.ips = vec![ip(text)];
        request
    };
    let in_window = |first: &str, last: &str| {
        let mut request = allocate("window", "10.0.0.0/24");
        request.ranges = vec![window("10.0.0.0/24", Some(first), Some(last))];
        request
    };
    let in_space = |name: &str, overlapping: bool, range: &str| {
        let mut request = allocate("space", range);
        request.space.network_name = name.to_owned();
        request.space.overlapping = overlapping;
        request
    };
    let as_cluster = |uid: &str| {
        let mut request = allocate("cluster", "10.0.0.0/24");
        request.cluster_uid = Some(uid.to_owned());
        request
    };
    let ranges = |range: &str| {
        let selector = SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        };
        Command::Count(Box::new(Count::Ranges(
            selector,
            vec![window(range, None, None)],
        )))
    };
    let bind = BindCluster {
        cluster: "prod".to_owned(),
        uid: "kube-system-uid".to_owned(),
        provenance: provenance(),
    };
    vec![
        (
            "windows and counts",
            Command::Count(Box::new(Count::Recorded(None))),
        ),
        (
            "counts of a window that was never used",
            ranges("10.0.0.0/28"),
        ),
        (
            "the lowest free address",
            probe(allocate("new", "10.0.0.0/24")),
        ),
        ("the other family", probe(allocate("new", "2001:db8::/64"))),
        (
            "a repeat",
            probe(by("a2", "uid-a", "10.0.0.0/24", BOOT_1, 5)),
        ),
        ("a repeat of two ranges", {
            let mut dual = by("c1", "uid-c", "10.1.0.0/16", BOOT_1, 8);
            dual.ranges.push(window("2001:db8::/64", None, None));
            probe(dual)
        }),
        (
            "other content",
            probe(by("a2", "uid-a", "10.0.0.0/25", BOOT_1, 5)),
        ),
        (
            "a takeover",
            probe(by("a3", "uid-a", "10.0.0.0/24", BOOT_1, 50)),
        ),
        (
            "an earlier call on the same boot",
            probe(by("a0", "uid-a", "10.0.0.0/24", BOOT_1, 4)),
        ),
        (
            "a call on an earlier boot",
            probe(by("a0", "uid-a", "10.0.0.0/24", BOOT_2, 9_999)),
        ),
        (
            "a call on a boot never seen",
            probe(by("a9", "uid-a", "10.0.0.0/24", 0xb003, 1)),
        ),
        (
            "overtaken by its own release",
            probe(by("f1", "uid-f", "10.0.0.0/24", BOOT_1, 15)),
        ),
        (
            "older sandbox than a release",
            probe(by("f0", "uid-f", "10.0.0.0/24", BOOT_1, 12)),
        ),
        (
            "deleted before it arrived",
            probe(by("g1", "uid-g", "10.0.0.0/24", BOOT_1, 25)),
        ),
        (
            "allocated after its deletion",
            probe(by("g1", "uid-g", "10.0.0.0/24", BOOT_1, 35)),
        ),
        ("held by another", probe(fixed("10.0.0.1"))),
        ("resting", probe(fixed("10.0.0.10"))),
        ("resting, of the same owner", {
            let mut request = by("b2", "uid-b", "10.0.0.0/24", BOOT_1, 60);
            request.ips = vec![ip("10.0.0.10")];
            probe(request)
        }),
        (
            "nothing free but what rests",
            probe(in_window("10.0.0.10", "10.0.0.10")),
        ),
        ("nothing free", probe(in_window("10.0.0.1", "10.0.0.1"))),
        (
            "the private range in its space",
            probe(in_space("", false, "10.2.0.0/24")),
        ),
        (
            "the private range elsewhere",
            probe(in_space("", true, "10.2.0.0/24")),
        ),
        (
            "another space",
            probe(in_space("blue", true, "10.0.0.0/24")),
        ),
        ("the cluster", probe(as_cluster("kube-system-uid"))),
        (
            "another cluster of its name",
            probe(as_cluster("other-uid")),
        ),
        ("the binding", Command::BindCluster(Box::new(bind))),
    ]
}

async fn answers(ledger: &Ledger) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    for (what, command) in probes() {
        let told = ledger.execute(command, WAIT).await;
        all.push((what, format!("{told:#?}")));
    }
    all
}

#[tokio::test]
async fn a_loaded_ledger_answers_as_the_one_that_wrote() {
    let bench = Bench::new().await;
    write_history(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    let events = "select count(*) from ipledger.events";
    let before = text(&observer, events).await;
    let writer = answers(&bench.ledger).await;
    let loaded = open(&bench.database).await;
    for (written, read) in writer.iter().zip(answers(&loaded).await) {
        assert_eq!(*written, read);
    }
    assert_eq!(
        text(&observer, events).await,
        before,
        "probes append nothing"
    );
    // The probes are no empty words: between them they meet these.
    let all: String = writer.into_iter().map(|(_, told)| told).collect();
    for word in [
        "repeated: true",
        "AttachmentConflict",
        "Stale",
        "Deleted",
        "AddressTaken",
        "AddressCooling",
        "Cooling",
        "Exhausted",
        "SpaceConflict",
        "ClusterMismatch",
        "ClusterBound",
        "Counted",
    ] {
        assert!(all.contains(word), "{word}");
    }
    loaded.close().await;
    bench.ledger.close().await;
}

/// The same by following: a replica that was open all the time.
#[tokio::test]
async fn a_replica_that_followed_answers_as_the_one_that_wrote() {
    let bench = Bench::new().await;
    let follower = open(&bench.database).await;
    write_history(&bench.ledger).await;
    // Whatever it is asked to append, it finds the heads moved and follows.
    add(&follower, allocate("follow", "10.9.0.0/24"))
        .await
        .unwrap();
    add(&bench.ledger, allocate("follow-too", "10.9.0.0/24"))
        .await
        .unwrap();
    add(&follower, allocate("follow-again", "10.9.0.0/24"))
        .await
        .unwrap();
    add(&bench.ledger, allocate("follow-last", "10.9.0.0/24"))
        .await
        .unwrap();
    add(&follower, allocate("follow-last", "10.9.0.0/24"))
        .await
        .unwrap();
    let follows = answers(&follower).await;
    for (written, read) in answers(&bench.ledger).await.iter().zip(follows) {
        // A tombstone is no event: a look does not find it, the real allocate does.
        if written.0 != "deleted before it arrived" {
            assert_eq!(*written, read);
        }
    }
    let late = add(&follower, by("g1", "uid-g", "10.0.0.0/24", BOOT_1, 25)).await;
    assert_eq!(
        late.expect_err("deleted before it arrived").kind(),
        "deleted"
    );
    follower.close().await;
    bench.ledger.close().await;
}

/// What rests wakes up in a loaded ledger as well.
#[tokio::test]
async fn a_cool_down_ends_in_a_loaded_ledger() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", "10.0.0.0/30");
    request.ranges = vec![window("10.0.0.0/30", Some("10.0.0.1"), Some("10.0.0.1"))];
    request.cooldown_seconds = 2;
    let mut other = request.clone();
    other.attachment = attachment("c2");
    other.owner = Some(owner("other", "uid-other"));
    add(&bench.ledger, request).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    bench.ledger.close().await;
    let loaded = open(&bench.database).await;
    let refused = add(&loaded, other.clone()).await.expect_err("it rests");
    assert_eq!(refused.kind(), "cooling");
    super::servers::until("it is free again", async || {
        match loaded
            .execute(Command::Allocate(Box::new(other.clone())), WAIT)
            .await
        {
            Ok(Answer::Allocated(_)) => true,
            Err(error) if error.kind() == "cooling" => false,
            other => panic!("{other:?}"),
        }
    })
    .await;
    loaded.close().await;
}
