use jiff::Timestamp;

use super::*;

const PERIOD: Duration = Duration::from_secs(30);
const SETTLE: Duration = Duration::from_secs(1);

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_000).unwrap()
    }
}

fn outlook(due: Option<i64>) -> Option<Outlook> {
    Some(Outlook {
        second_look: false,
        due: due.map(|second| Timestamp::from_second(second).unwrap()),
    })
}

fn at(began: Instant, ended: Instant) -> Times<'static> {
    Times {
        began,
        ended,
        clock: &Fixed,
    }
}

/// After a pass over all holds that took no time.
fn after(outlook: Option<Outlook>) -> (Agenda, Instant) {
    let now = Instant::now();
    let mut agenda = Agenda::new(PERIOD, SETTLE, now);
    assert_eq!(agenda.next(), (now, Why::Period));
    agenda.passed_all(outlook, at(now, now));
    (agenda, now)
}

#[test]
fn without_news_the_period_counts() {
    let (agenda, now) = after(outlook(None));
    assert_eq!(agenda.next(), (now + PERIOD, Why::Period));
}

#[test]
fn what_waits_is_due_at_its_moment_also_after_a_pass_over_other_holds() {
    let (mut agenda, now) = after(outlook(Some(1_010)));
    let due = now + Duration::from_secs(10) + LEAST_PAUSE;
    assert_eq!(agenda.next(), (due, Why::Due));
    agenda.passed(outlook(None), at(now, now));
    assert_eq!(agenda.next(), (due, Why::Due));
    agenda.passed(outlook(Some(1_005)), at(now, now));
    let sooner = now + Duration::from_secs(5) + LEAST_PAUSE;
    assert_eq!(agenda.next(), (sooner, Why::Due));
}

#[test]
fn events_are_gathered_and_leave_time_for_rest() {
    let (mut agenda, now) = after(outlook(None));
    agenda.note_event(now);
    agenda.note_event(now + SETTLE / 2);
    assert_eq!(agenda.next(), (now + SETTLE, Why::Event));
    // A pass of two seconds is followed by eighteen without one for events.
    let began = now + SETTLE;
    let ended = began + Duration::from_secs(2);
    agenda.passed_all(outlook(None), at(began, ended));
    agenda.note_event(ended);
    assert_eq!(agenda.next(), (ended + Duration::from_secs(18), Why::Event));
    assert_eq!(agenda.wakeups_from(), ended + Duration::from_secs(1));
}

#[test]
fn a_second_look_is_made_at_once_and_once() {
    let second = Some(Outlook {
        second_look: true,
        due: None,
    });
    let (mut agenda, now) = after(second);
    assert_eq!(agenda.next(), (now, Why::SecondLook));
    agenda.passed_all(outlook(None), at(now, now));
    assert_eq!(agenda.next(), (now + PERIOD, Why::Period));
}

#[test]
fn a_pass_over_other_holds_leaves_the_second_look_to_be_made() {
    let second = Some(Outlook {
        second_look: true,
        due: None,
    });
    let (mut agenda, now) = after(second);
    agenda.passed(outlook(None), at(now, now));
    assert_eq!(agenda.next(), (now, Why::SecondLook));
}

#[test]
fn a_pass_that_saw_nothing_is_made_again_soon() {
    let (mut agenda, now) = after(outlook(Some(1_010)));
    agenda.passed_all(None, at(now, now));
    assert_eq!(agenda.next(), (now + RETRY, Why::Period));
}
