use std::net::IpAddr;

use address::Window;

use super::allocate::{hold_ref, owner_key, timestamp};
use crate::command::Allocate;
use crate::event::DecisionRule;
use crate::refusal::Refusal;
use crate::state::{Class, Record, SpaceIndex, State};

/// The address chosen for one range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) ip: IpAddr,
    pub(super) space: SpaceIndex,
    pub(super) rule: DecisionRule,
    /// Its last step, if it was ever used.
    pub(super) previous_step: Option<u32>,
    /// The owner's older sandbox holds it, and that hold ends first.
    pub(super) releases_first: bool,
}

/// One address for each range, all or none.
pub(super) fn choose(
    state: &State,
    request: &Allocate,
    spaces: &[SpaceIndex],
    older: &[Record],
) -> Result<Vec<Choice>, Refusal> {
    let fixed = assign_fixed(request)?;
    let mut choices: Vec<Choice> = Vec::with_capacity(request.ranges.len());
    for (position, window) in request.ranges.iter().enumerate() {
        let space = spaces[position];
        let used = |ip: IpAddr| choices.iter().any(|c| c.space == space && c.ip == ip);
        let choice = match fixed[position] {
            Some(ip) => choose_fixed(state, request, space, ip)?,
            None => match takeover(position, space, window, older, &used) {
                Some(choice) => choice,
                None => choose_free(state, space, window, older, &used)?,
            },
        };
        choices.push(choice);
    }
    Ok(choices)
}

/// Which fixed address goes to which range: the first range that may hand it out.
fn assign_fixed(request: &Allocate) -> Result<Vec<Option<IpAddr>>, Refusal> {
    let mut fixed = vec![None; request.ranges.len()];
    for &ip in &request.ips {
        let place = request
            .ranges
            .iter()
            .enumerate()
            .position(|(index, window)| fixed[index].is_none() && window.contains(ip))
            .ok_or(Refusal::AddressOutsideWindow { ip })?;
        fixed[place] = Some(ip);
    }
    Ok(fixed)
}

fn choose_fixed(
    state: &State,
    request: &Allocate,
    space: SpaceIndex,
    ip: IpAddr,
) -> Result<Choice, Refusal> {
    let record = state.record_of(space, ip);
    let own = |record: &Record| owner_key(request).is_some_and(|owner| owner == record.owner);
    let releases_first = match record {
        Some(record) if record.is_held() && own(record) => true,
        Some(record) if record.is_held() => {
            return Err(Refusal::AddressTaken {
                ip,
                hold: hold_ref(state, record),
            });
        }
        Some(record) if record.class == Class::Cooling && !own(record) => {
            let until = timestamp(record.cooling_until_us());
            return Err(Refusal::AddressCooling { ip, until });
        }
        _ => false,
    };
    Ok(Choice {
        ip,
        space,
        rule: DecisionRule::Requested,
        previous_step: record.map(|record| record.step),
        releases_first,
    })
}

/// The address of the owner's older sandbox, preferably from the same range of the request.
fn takeover(
    position: usize,
    space: SpaceIndex,
    window: &Window,
    older: &[Record],
    used: &impl Fn(IpAddr) -> bool,
) -> Option<Choice> {
    let fits = |record: &&Record| {
        record.is_held()
            && record.space == space
            && window.contains(record.ip())
            && !used(record.ip())
    };
    let record = older
        .iter()
        .find(|record| usize::from(record.position) == position && fits(record))
        .or_else(|| older.iter().find(fits))?;
    Some(Choice {
        ip: record.ip(),
        space,
        rule: DecisionRule::Takeover,
        previous_step: Some(record.step),
        releases_first: true,
    })
}

/// The lowest address that is free, or resting after this very owner.
fn choose_free(
    state: &State,
    space: SpaceIndex,
    window: &Window,
    older: &[Record],
    used: &impl Fn(IpAddr) -> bool,
) -> Result<Choice, Refusal> {
    let taken = state.spaces.taken(space, window.family());
    let mut from = window.first();
    let lowest = loop {
        let Some(number) = address::lowest_free(window, taken, from) else {
            break None;
        };
        let ip = address::from_number(window.family(), number);
        // An overlapping range of this very request may have taken it.
        if !used(ip) {
            break Some(ip);
        }
        match number.checked_add(1) {
            Some(next) => from = next,
            None => break None,
        }
    };
    let resting = older
        .iter()
        .filter(|record| {
            record.class == Class::Cooling
                && record.space == space
                && window.contains(record.ip())
                && !used(record.ip())
        })
        .map(Record::ip)
        .min();
    let ip = match (lowest, resting) {
        (Some(lowest), Some(resting)) => lowest.min(resting),
        (Some(ip), None) | (None, Some(ip)) => ip,
        (None, None) => return Err(full(state, space, window)),
    };
    Ok(Choice {
        ip,
        space,
        rule: DecisionRule::LowestFree,
        previous_step: state.record_of(space, ip).map(|record| record.step),
        releases_first: false,
    })
}

fn full(state: &State, space: SpaceIndex, window: &Window) -> Refusal {
    let (held, cooling) = state.counts(space, window);
    let name = state.spaces.get(space).name.clone();
    let window_box = Box::new(window.clone());
    match state.next_wake(space, window).filter(|_| cooling > 0) {
        Some(until) => Refusal::Cooling {
            space: name,
            window: window_box,
            held,
            cooling,
            until: timestamp(until),
        },
        None => Refusal::Exhausted {
            space: name,
            window: window_box,
            held,
            cooling,
        },
    }
}
