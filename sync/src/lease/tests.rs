use super::decide::{Memory, Step, write};
use super::*;
use crate::clock::SteadyClock;

fn t(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn lease(holder: &str, renewed: i64) -> Lease {
    let mut lease = Lease::default();
    let spec = lease.spec.get_or_insert_default();
    write(spec, holder, Duration::from_secs(15), t(renewed), false);
    lease
}

#[test]
fn a_lease_is_taken_when_it_was_not_seen_to_change_for_its_duration() {
    let mut memory = Memory::default();
    // The writer's clock is far behind: what counts is when it was seen to change.
    assert_eq!(
        memory.decide(Some(&lease("a", 1)), "b", t(1_000)),
        Step::Wait
    );
    assert_eq!(
        memory.decide(Some(&lease("a", 1)), "b", t(1_015)),
        Step::Wait
    );
    assert_eq!(
        memory.decide(Some(&lease("a", 6)), "b", t(1_015)),
        Step::Wait
    );
    assert_eq!(
        memory.decide(Some(&lease("a", 6)), "b", t(1_030)),
        Step::Wait
    );
    assert_eq!(
        memory.decide(Some(&lease("a", 6)), "b", t(1_031)),
        Step::Take
    );
}

#[test]
fn a_lease_that_is_missing_or_given_up_is_taken_and_ones_own_is_renewed() {
    assert_eq!(Memory::default().decide(None, "b", t(1)), Step::Take);
    let mut free = lease("a", 1);
    free.spec.as_mut().unwrap().holder_identity = None;
    assert_eq!(Memory::default().decide(Some(&free), "b", t(1)), Step::Take);
    let own = lease("b", 1);
    assert_eq!(
        Memory::default().decide(Some(&own), "b", t(9_000)),
        Step::Renew
    );
}

#[test]
fn taking_counts_and_renewing_does_not() {
    let mut spec = lease("a", 1).spec.unwrap();
    write(&mut spec, "b", Duration::from_secs(15), t(50), true);
    assert_eq!(spec.lease_transitions, Some(1));
    assert_eq!(spec.acquire_time, Some(crate::kube_time::micro_time(t(50))));
    write(&mut spec, "b", Duration::from_secs(15), t(60), false);
    assert_eq!(spec.lease_transitions, Some(1));
    assert_eq!(spec.acquire_time, Some(crate::kube_time::micro_time(t(50))));
    assert_eq!(spec.renew_time, Some(crate::kube_time::micro_time(t(60))));
}

#[tokio::test]
async fn acting_ends_by_itself() {
    let clock: SharedClock = Arc::new(SteadyClock::set_to(t(1_000)));
    let (until, receiver) = watch::channel(None);
    let mut held = Held {
        until: receiver,
        clock: Arc::clone(&clock),
    };
    assert!(held.left().is_zero());
    until.send_replace(Some(clock.now() + SignedDuration::from_millis(50)));
    held.won().await;
    assert!(!held.left().is_zero());
    held.lost().await;
    assert!(held.left().is_zero());
}
