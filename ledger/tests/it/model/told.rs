//! What a caller is told, as the text that the model writes.

use std::fmt::Write as _;

use ledger::answer::{
    Allocated, Counted, GateSet, HoldReleased, ImportOutcome, Imported, Receipt, Released,
};
use ledger::decide::{Draft, NewEvent, Verdict};
use ledger::state::{State, Taken};
use ledger::{Answer, Error, Refusal};

/// Of a verdict; its events have these positions.
pub(crate) fn of_verdict(state: &State, verdict: &Verdict, events: &[(NewEvent, u64)]) -> String {
    match verdict {
        Verdict::Append(_, draft) => of_draft(state, draft, events),
        Verdict::Answer(answer, _) => of_answer(answer),
        Verdict::Repeat(repeat) => of_answer(&repeat.answer),
        Verdict::Refuse(refusal, _) => of_refusal(refusal),
        Verdict::Bury(_) => "released".to_owned(),
        Verdict::Open(_) => "opened".to_owned(),
        Verdict::See(_) => "seen".to_owned(),
    }
}

fn of_draft(state: &State, draft: &Draft, events: &[(NewEvent, u64)]) -> String {
    let place = |(event, seq): &(NewEvent, u64)| {
        let (ip, step) = event.target.expect("an event of an address");
        let space = state.spaces.get(event.space).name.clone();
        (ip, space, step, *seq)
    };
    match draft {
        Draft::Allocated(chosen) => {
            chosen
                .iter()
                .fold("given".to_owned(), |text, (index, pool)| {
                    let (ip, space, step, seq) = place(&events[*index]);
                    format!("{text} {ip} of {pool} in {space} step {step} seq {seq}")
                })
        }
        Draft::Released => events
            .iter()
            .map(place)
            .fold("released".to_owned(), |text, (ip, space, step, seq)| {
                format!("{text} {ip} of {space} step {step} seq {seq}")
            }),
        Draft::HoldReleased => {
            let (ip, space, step, seq) = place(&events[0]);
            format!("ended {ip} of {space} step {step} seq {seq}")
        }
        Draft::Imported => {
            let (_, _, step, seq) = place(&events[0]);
            format!("imported step {step} seq {seq}")
        }
        Draft::Reserved(pool) => {
            let (ip, space, step, seq) = place(&events[0]);
            format!("reserved {ip} of {pool} in {space} step {step} seq {seq}")
        }
        Draft::ClusterBound(uid) => format!("bound {uid}"),
        Draft::SpaceDeclared(name) => format!("declared {name}"),
        Draft::GateSet(set) => of_gate(set),
    }
}

/// Of what the ledger answered.
pub(crate) fn of_result(result: &Result<Answer, Error>) -> String {
    match result {
        Ok(answer) => of_answer(answer),
        Err(Error::Refused(refusal)) => of_refusal(refusal),
        Err(other) => format!("failed {}: {other}", other.kind()),
    }
}

pub(crate) fn of_answer(answer: &Answer) -> String {
    match answer {
        Answer::Allocated(allocated) => of_allocated(allocated),
        Answer::Released(released) => of_released(released),
        Answer::HoldReleased(ended) => of_ended(ended),
        Answer::Imported(imported) => of_imported(imported),
        Answer::Reserved(reserved) => {
            let verb = if reserved.repeated {
                "had reserved"
            } else {
                "reserved"
            };
            let (ip, pool, space) = (reserved.ip, reserved.pool, &reserved.space);
            let Receipt { step, seq, .. } = reserved.receipt;
            format!("{verb} {ip} of {pool} in {space} step {step} seq {seq}")
        }
        Answer::ClusterBound(uid) => format!("bound {uid}"),
        Answer::SpaceDeclared(name) => format!("declared {name}"),
        Answer::GateSet(set) => of_gate(set),
        Answer::Counted(counted) => of_counted(counted),
        Answer::BootSeen => "seen".to_owned(),
    }
}

fn of_gate(set: &GateSet) -> String {
    let closed = set.gate.as_ref().is_some_and(|gate| gate.closed);
    format!("gate closed {closed} repeated {}", set.repeated)
}

fn of_allocated(allocated: &Allocated) -> String {
    let verb = match (allocated.repeated, allocated.dry_run) {
        (true, _) => "has",
        (false, true) => "would give",
        (false, false) => "given",
    };
    allocated
        .addresses
        .iter()
        .fold(verb.to_owned(), |text, address| {
            let (ip, space, pool) = (address.ip, &address.space, address.pool);
            match address.receipt {
                None => format!("{text} {ip} of {space}"),
                Some(receipt) => {
                    let (step, seq) = (receipt.step, receipt.seq);
                    format!("{text} {ip} of {pool} in {space} step {step} seq {seq}")
                }
            }
        })
}

fn of_released(released: &Released) -> String {
    if released.stale {
        return "released stale".to_owned();
    }
    released
        .released
        .iter()
        .fold("released".to_owned(), |mut text, address| {
            let (ip, space, receipt) = (address.ip, &address.space, address.receipt);
            let _ = write!(
                text,
                " {ip} of {space} step {} seq {}",
                receipt.step, receipt.seq
            );
            text
        })
}

fn of_ended(ended: &HoldReleased) -> String {
    let verb = if ended.repeated { "had ended" } else { "ended" };
    let released = &ended.released;
    let (ip, space, receipt) = (released.ip, &released.space, released.receipt);
    format!(
        "{verb} {ip} of {space} step {} seq {}",
        receipt.step, receipt.seq
    )
}

fn of_imported(imported: &Imported) -> String {
    let verb = match imported.outcome {
        ImportOutcome::Imported => "imported",
        ImportOutcome::Held => "import held",
        ImportOutcome::Ended => "import ended",
    };
    format!("{verb} step {} seq {}", imported.step, imported.seq)
}

fn of_counted(counted: &Counted) -> String {
    counted
        .windows
        .iter()
        .fold("counted".to_owned(), |text, window| {
            let taken = window.taken;
            format!("{text} {}+{}+{}", taken.held, taken.cooling, taken.reserved)
        })
}

pub(crate) fn of_taken(taken: &Taken) -> String {
    let Taken {
        held,
        cooling,
        reserved,
    } = taken;
    format!("held {held} cooling {cooling} reserved {reserved}")
}

fn of_refusal(refusal: &Refusal) -> String {
    let mut text = format!("refused {}", refusal.kind());
    let _ = match refusal {
        Refusal::Invalid { key, value, .. } => write!(text, " {key} {value}"),
        Refusal::AttachmentConflict { hold, .. } => write!(text, " {}", hold.ip),
        Refusal::SpaceConflict { private, .. } => write!(text, " {private}"),
        Refusal::AddressOutsideWindow { ip } => write!(text, " {ip}"),
        Refusal::AddressTaken { ip, hold } | Refusal::AddressReserved { ip, hold } => {
            let (space, step, seq) = (&hold.space, hold.step, hold.seq);
            write!(text, " {ip} of {space} step {step} seq {seq}")
        }
        Refusal::AddressCooling { ip, until } | Refusal::AddressKept { ip, until, .. } => {
            write!(text, " {ip} until {}", until.as_microsecond())
        }
        Refusal::Exhausted { taken, .. } => write!(text, " {}", of_taken(taken)),
        Refusal::Cooling { taken, until, .. } | Refusal::Kept { taken, until, .. } => {
            write!(
                text,
                " {} until {}",
                of_taken(taken),
                until.as_microsecond()
            )
        }
        Refusal::StepMismatch {
            expected, actual, ..
        } => match actual.0 {
            Some(actual) => write!(text, " {expected} {actual}"),
            None => write!(text, " {expected} none"),
        },
        _ => Ok(()),
    };
    text
}
