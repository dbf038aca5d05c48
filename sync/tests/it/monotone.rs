//! More evidence never takes a release back; less never makes one.

use ipledger_sync::diff::{Absence, Blind, ContainerState, Judgement, Phase, Read};
use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::case::{Case, absence, finished, list, node, pod, t};

type Change = (&'static str, fn(&mut Case));

#[rustfmt::skip]
const MORE: &[Change] = &[
    ("later", |case| case.now = t(case.now.as_second() + 50)),
    ("absent for longer", |case| remembered(case).since = t(130)),
    ("seen finished", |case| remembered(case).finished = finished("a").unwrap().finished),
    ("node deleted", |case| case.seen.node = Read::NotFound(t(200))),
    ("out of service", |case| case.node(|node| node.out_of_service = true)),
    ("unreachable for longer", |case| case.node(|node| node.unreachable_since = Some(t(-400)))),
    ("heard for longer", |case| case.node(|read| read.heartbeats = node(0, 200).heartbeats)),
];

#[rustfmt::skip]
const LESS: &[Change] = &[
    ("pod not read", |case| case.seen.pod.get = Read::Blind(Blind::TimedOut)),
    ("read too early", |case| case.seen.pod.get = Read::NotFound(t(99))),
    ("another cluster", |case| case.hold.cluster = "east".to_owned()),
    ("within grace", |case| case.now = t(100)),
    ("pod alive", |case| case.find(pod("a", Phase::Running, &[ContainerState::Running]))),
];

/// What is remembered; without a memory, one that the read itself would make.
fn remembered(case: &mut Case) -> &mut Absence {
    let absence = &mut case.seen.absence;
    absence.get_or_insert_with(|| crate::case::absence(200).unwrap())
}

fn is_free(case: &Case) -> bool {
    matches!(case.judge(), Judgement::Free(_))
}

prop_compose! {
    fn any_case()(
        has_uid in any::<bool>(), found in 0..7, listed in 0..4, heard in 0..5,
        since in prop::option::of(130_i64..250), was_finished in any::<bool>(), now in 150_i64..400,
    ) -> Case {
        use ContainerState::{Running, Terminated};
        let mut case = Case::new();
        match found {
            0 => case.find(pod("a", Phase::Running, &[Running])),
            1 => case.find(pod("a", Phase::Failed, &[Terminated, Running])),
            2 => case.find(pod("a", Phase::Succeeded, &[Terminated])),
            3 => case.find(pod("b", Phase::Running, &[Running])),
            4 => case.seen.pod.get = Read::Blind(Blind::Forbidden),
            _ => {}
        }
        match listed {
            0 => case.seen.pod.list = None,
            1 => case.seen.pod.list = list(200, Some("c")),
            _ => {}
        }
        match heard {
            0 => case.cut_off(180),
            1 => case.cut_off(-300),
            2 => case.seen.node = Read::NotFound(t(200)),
            3 => case.seen.node = Read::Blind(Blind::NotRead),
            _ => {}
        }
        case.seen.absence = since.and_then(absence);
        if was_finished {
            case.seen.absence = finished("a");
        }
        if !has_uid {
            case.owner().uid = None;
        }
        case.now = t(now);
        case
    }
}

fn config() -> Config {
    Config {
        cases: 3_000,
        failure_persistence: None,
        ..Config::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn more_evidence_never_takes_a_release_back(
        mut case in any_case(),
        more in prop::sample::subsequence(MORE, 1..=4),
    ) {
        for (name, change) in more {
            let was_free = is_free(&case);
            change(&mut case);
            prop_assert!(is_free(&case) || !was_free, "{}", name);
        }
    }

    #[test]
    fn no_release_without_each_part(
        mut case in any_case(),
        (name, change) in prop::sample::select(LESS),
    ) {
        change(&mut case);
        prop_assert!(!is_free(&case), "{}", name);
    }
}
