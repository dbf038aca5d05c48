use std::collections::BTreeMap;

use address::Window;

use super::Verdict;
use super::resolve::{Place, resolve};
use crate::answer::{Answer, Counted, WindowCounts};
use crate::command::{Count, SpaceSelector};
use crate::refusal::Refusal;
use crate::state::{State, Taken};

/// Counts windows, as memory knows them.
pub(super) fn decide(state: &State, count: &Count) -> Verdict {
    let counted = match count {
        Count::Recorded(only) => recorded(state, only.as_deref()),
        Count::Ranges(selector, windows) => ranges(state, selector, windows),
    };
    counted.map_or_else(
        |refused| refused,
        |counted| Verdict::Answer(Answer::Counted(counted), Vec::new()),
    )
}

fn recorded(state: &State, only: Option<&str>) -> Result<Counted, Verdict> {
    if let Some(name) = only.filter(|name| state.spaces.find(name).is_none()) {
        let refusal = Refusal::NoSuchSpace(name.to_owned());
        return Err(Verdict::Refuse(refusal, Vec::new()));
    }
    let mut counted = nothing();
    for (space, known) in state.pools.windows() {
        if only.is_none_or(|only| only == state.spaces.get(space).name) {
            let place = Place::Space(space);
            add(&mut counted, state, &place, &known.window, known.taken);
        }
    }
    // First use is an order within a space only: every replica must give the same one.
    counted.windows.sort_by(|a, b| a.space.cmp(&b.space));
    Ok(counted)
}

fn ranges(state: &State, selector: &SpaceSelector, windows: &[Window]) -> Result<Counted, Verdict> {
    let mut counted = nothing();
    for window in windows {
        let place = resolve(state, selector, window.cidr())?;
        let taken = place.counts(state, window);
        add(&mut counted, state, &place, window, taken);
    }
    Ok(counted)
}

fn nothing() -> Counted {
    Counted {
        windows: Vec::new(),
        as_of: BTreeMap::new(),
    }
}

fn add(counted: &mut Counted, state: &State, place: &Place, window: &Window, taken: Taken) {
    let name = place.name(state).to_owned();
    if let Some(space) = place.space() {
        counted
            .as_of
            .insert(name.clone(), state.spaces.get(space).seq);
    }
    counted.windows.push(WindowCounts {
        space: name,
        window: window.clone(),
        taken,
    });
}
