//! whereabouts and ipledger side by side: the same definitions and calls for both, and what each
//! answers, told apart by result and class of error.
//!
//! The cases stand in `tests/fixtures/whereabouts/*.cases.jsonl`, further ones come from a
//! generator with a seed. What whereabouts v0.9.4 answers is recorded beside them, so that the
//! comparison needs neither Go nor a Kubernetes API server; `record-whereabouts` records anew.

pub mod answer;
pub mod case;
pub mod documented;
pub mod fixtures;
pub mod generate;
pub mod incumbent;
pub mod ours;

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};
use case::Case;

/// So many cases run at once; whereabouts spends most of its time waiting.
const LANES: usize = 6;

/// Runs every case, several at once, and gives the answers in the order of the cases.
pub fn parallel<T: Send>(
    cases: &[Case],
    run: impl Fn(usize, &Case) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let lane = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = cases.get(index) else {
                return Ok::<_, anyhow::Error>(done);
            };
            done.push((index, run(index, case).with_context(|| case.id.clone())?));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
        let mut all = Vec::new();
        for lane in lanes {
            all.extend(
                lane.join()
                    .expect("a lane that fails says so as an error")?,
            );
        }
        Ok::<_, anyhow::Error>(all)
    })?;
    all.sort_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, answer)| answer).collect())
}
