use std::net::IpAddr;

use address::Window;

use super::allocate::{hold_ref, timestamp};
use super::resolve::Place;
use crate::command::{AddressOrder, Allocate};
use crate::event::DecisionRule;
use crate::event::encoding::Key;
use crate::refusal::Refusal;
use crate::state::{Class, Record, State};

/// The address chosen for one range.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub(super) ip: IpAddr,
    pub(super) rule: DecisionRule,
    /// Its last step, if it was ever used.
    pub(super) previous_step: Option<u32>,
    /// The owner's older sandbox holds it, and that hold ends first.
    pub(super) releases_first: bool,
}

/// Which fixed address goes to which range: the first range that may hand it out. Depends on the
/// request alone.
pub(super) fn assign_fixed(request: &Allocate) -> Result<Vec<Option<IpAddr>>, Refusal> {
    let mut fixed: Vec<Option<IpAddr>> = vec![None; request.ranges.len()];
    for (nth, &ip) in request.ips.iter().enumerate() {
        if fixed.contains(&Some(ip)) {
            return Err(Refusal::Invalid {
                key: format!("ips[{nth}]"),
                value: ip.to_string(),
                problem: "appears twice".to_owned(),
            });
        }
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

/// What a choice depends on beside the range.
pub(super) struct Chooser<'a> {
    pub(super) state: &'a State,
    pub(super) request: &'a Allocate,
    /// One per range: where it is served.
    pub(super) places: &'a [Place],
    pub(super) owner: Option<Key>,
    /// What the owner's older sandbox holds, or held and nobody else may have yet.
    pub(super) older: &'a [Record],
    /// What is kept for the owner's name.
    pub(super) kept: &'a [Record],
    /// Microseconds.
    pub(super) now_us: i64,
}

impl Chooser<'_> {
    /// One address for each range, all or none. Of several refusals the one that stands first in
    /// `docs/outcomes.md` is told, whichever range it is about.
    pub(super) fn choose(&self, fixed: &[Option<IpAddr>]) -> Result<Vec<Choice>, Refusal> {
        let mut choices: Vec<Option<Choice>> = vec![None; self.places.len()];
        let mut refusals = Vec::new();
        let mut keep = |slot: &mut Option<Choice>, chosen| match chosen {
            Ok(choice) => *slot = Some(choice),
            Err(refusal) => refusals.push(refusal),
        };
        for (position, ip) in fixed.iter().enumerate() {
            if let Some(ip) = ip {
                let chosen = self.fixed(&self.places[position], *ip);
                keep(&mut choices[position], chosen);
            }
        }
        for position in (0..choices.len()).filter(|&position| fixed[position].is_none()) {
            let chosen = self.unfixed(position, &choices);
            keep(&mut choices[position], chosen);
        }
        match refusals.into_iter().min_by_key(precedence) {
            Some(refusal) => Err(refusal),
            None => Ok(choices.into_iter().flatten().collect()),
        }
    }

    fn unfixed(&self, position: usize, choices: &[Option<Choice>]) -> Result<Choice, Refusal> {
        // An overlapping range of this very request may have taken it.
        let used = |ip: IpAddr| {
            let mut chosen = choices.iter().zip(self.places);
            chosen.any(|(choice, of)| {
                choice.is_some_and(|choice| choice.ip == ip) && *of == self.places[position]
            })
        };
        let own = self.takeover(position, &used);
        match own.or_else(|| self.kept(position, &used)) {
            Some(choice) => Ok(choice),
            None => self.free(position, &used),
        }
    }

    fn fixed(&self, place: &Place, ip: IpAddr) -> Result<Choice, Refusal> {
        let record = place.record_of(self.state, ip);
        let own = |record: &Record| self.owner.is_some_and(|owner| owner == record.owner);
        let is_kept_for_it = |record: &Record| self.kept.contains(record);
        let releases_first = match record {
            Some(record) if record.is_held() && own(record) => true,
            Some(record) if record.is_held() => {
                return Err(Refusal::AddressTaken {
                    ip,
                    hold: hold_ref(self.state, record),
                });
            }
            Some(record) if record.class == Class::Reserved => {
                let hold = hold_ref(self.state, record);
                return Err(Refusal::AddressReserved { ip, hold });
            }
            Some(record)
                if record.class == Class::Cooling && !own(record) && !is_kept_for_it(record) =>
            {
                return Err(resting(self.state, record, self.now_us));
            }
            _ => false,
        };
        Ok(Choice {
            ip,
            rule: DecisionRule::Requested,
            previous_step: record.map(|record| record.step),
            releases_first,
        })
    }

    /// The address of the owner's older sandbox.
    fn takeover(&self, position: usize, used: &impl Fn(IpAddr) -> bool) -> Option<Choice> {
        let held = self.older.iter().filter(|record| record.is_held());
        let record = self.fitting(held, position, used)?;
        Some(Choice {
            ip: record.ip(),
            rule: DecisionRule::Takeover,
            previous_step: Some(record.step),
            releases_first: true,
        })
    }

    /// The address that is kept for the owner's name.
    fn kept(&self, position: usize, used: &impl Fn(IpAddr) -> bool) -> Option<Choice> {
        let record = self.fitting(self.kept.iter(), position, used)?;
        Some(Choice {
            ip: record.ip(),
            rule: DecisionRule::Sticky,
            previous_step: Some(record.step),
            releases_first: false,
        })
    }

    /// One that the range may hand out, preferably from the same range of the request.
    fn fitting<'r>(
        &self,
        records: impl Iterator<Item = &'r Record>,
        position: usize,
        used: &impl Fn(IpAddr) -> bool,
    ) -> Option<&'r Record> {
        records
            .filter(|record| self.fits(position, record, used))
            .min_by_key(|record| usize::from(record.position) != position)
    }

    /// In the order that the request wants: the lowest address that is free or resting after this
    /// very owner; or the one that nobody had for the longest time, and only then one that rests.
    fn free(&self, position: usize, used: &impl Fn(IpAddr) -> bool) -> Result<Choice, Refusal> {
        let (window, place) = (&self.request.ranges[position], &self.places[position]);
        let resting = self
            .older
            .iter()
            .filter(|record| record.class == Class::Cooling && self.fits(position, record, used))
            .map(Record::ip)
            .min();
        let (free, rule) = match (self.request.order, place.space()) {
            (AddressOrder::LongestIdle, Some(space)) => (
                self.state.longest_idle(space, window, used),
                DecisionRule::LongestIdle,
            ),
            // Nobody had any.
            (AddressOrder::LongestIdle, None) => (
                self.lowest_unused(window, place, used),
                DecisionRule::LongestIdle,
            ),
            (AddressOrder::LowestFree, _) => (
                self.lowest_unused(window, place, used),
                DecisionRule::LowestFree,
            ),
        };
        let ip = match (free, resting) {
            (Some(free), Some(resting)) if rule == DecisionRule::LowestFree => free.min(resting),
            (Some(ip), _) | (None, Some(ip)) => ip,
            (None, None) => return Err(self.full(position)),
        };
        Ok(Choice {
            ip,
            rule,
            previous_step: place.record_of(self.state, ip).map(|record| record.step),
            releases_first: false,
        })
    }

    fn fits(&self, position: usize, record: &Record, used: &impl Fn(IpAddr) -> bool) -> bool {
        let ip = record.ip();
        self.places[position] == Place::Space(record.space)
            && self.request.ranges[position].contains(ip)
            && !used(ip)
    }

    fn lowest_unused(
        &self,
        window: &Window,
        place: &Place,
        used: &impl Fn(IpAddr) -> bool,
    ) -> Option<IpAddr> {
        let mut from = window.first();
        loop {
            let number = place.lowest_free(self.state, window, from)?;
            let ip = address::from_number(window.family(), number);
            if !used(ip) {
                return Some(ip);
            }
            from = number.checked_add(1)?;
        }
    }

    fn full(&self, position: usize) -> Refusal {
        let (window, place) = (&self.request.ranges[position], &self.places[position]);
        let taken = Box::new(place.counts(self.state, window));
        let wakes = place
            .space()
            .and_then(|space| self.state.next_to_wake(space, window));
        let (space, window) = (place.name(self.state).to_owned(), Box::new(window.clone()));
        let Some((until, ip)) = wakes else {
            return Refusal::Exhausted {
                position,
                space,
                window,
                taken,
            };
        };
        let until = timestamp(until);
        let next = place.record_of(self.state, ip);
        let is_kept = |record| self.state.kept_for(record, self.now_us).is_some();
        if next.is_some_and(is_kept) {
            return Refusal::Kept {
                position,
                space,
                window,
                taken,
                until,
            };
        }
        Refusal::Cooling {
            position,
            space,
            window,
            taken,
            until,
        }
    }
}

/// Why nobody else may have an address that rests.
pub(super) fn resting(state: &State, record: &Record, now_us: i64) -> Refusal {
    let (ip, until) = (record.ip(), timestamp(record.cooling_until_us()));
    match state.kept_for(record, now_us) {
        Some(_) => Refusal::AddressKept {
            ip,
            hold: hold_ref(state, record),
            until,
        },
        None => Refusal::AddressCooling { ip, until },
    }
}

/// The order of the headings in `docs/outcomes.md`; the first range among equals.
fn precedence(refusal: &Refusal) -> u8 {
    match refusal {
        Refusal::AddressTaken { .. } => 0,
        Refusal::AddressReserved { .. } => 1,
        Refusal::AddressKept { .. } => 2,
        Refusal::AddressCooling { .. } => 3,
        Refusal::Exhausted { .. } => 4,
        Refusal::Kept { .. } => 5,
        _ => 6,
    }
}
