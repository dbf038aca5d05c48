//! Records what whereabouts v0.9.4 answers to the cases of the differential suite:
//! `cargo run -p e2e --bin record-whereabouts` writes
//! `tests/fixtures/whereabouts/*.answers.jsonl`. Needs Go the first time.

use std::io::Write as _;
use std::sync::Mutex;

use anyhow::Result;
use e2e::differential::fixtures::{Recorded, groups, write};
use e2e::differential::incumbent::Incumbent;
use e2e::differential::parallel;

#[tokio::main]
async fn main() -> Result<()> {
    let incumbent = Incumbent::start().await?;
    let slowest = Mutex::new((std::time::Duration::ZERO, String::new()));
    for group in groups()? {
        incumbent.prepare(&group.cases).await?;
        let answers = parallel(&group.cases, |_, case| {
            let started = std::time::Instant::now();
            let answers = incumbent.answers(case)?;
            let mut slowest = slowest.lock().expect("nobody panics with it");
            if started.elapsed() > slowest.0 {
                *slowest = (started.elapsed(), case.id.clone());
            }
            Ok(Recorded {
                id: case.id.clone(),
                answers,
            })
        })?;
        write(&group, &answers)?;
        writeln!(std::io::stdout(), "{}: {} cases", group.name, answers.len())?;
    }
    let (time, id) = slowest.into_inner().expect("nobody panics with it");
    writeln!(
        std::io::stdout(),
        "the slowest was {id} with {} ms",
        time.as_millis()
    )?;
    Ok(())
}
