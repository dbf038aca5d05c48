//! whereabouts and ipledger on the same definitions: the same answer, or a difference that
//! docs/compatibility.md names.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Result, ensure};
use e2e::binaries;
use e2e::differential::answer::Answer;
use e2e::differential::case::Case;
use e2e::differential::documented;
use e2e::differential::fixtures::{groups, recorded};
use e2e::differential::generate::is_generated;
use e2e::differential::incumbent::Incumbent;
use e2e::differential::ours::Ours;
use e2e::differential::parallel;
use test_cluster::GoProgram;

use super::say_not_run;
use explained::explained;

mod explained;

fn cases() -> Result<Vec<Case>> {
    let groups = groups()?;
    Ok(groups.into_iter().flat_map(|group| group.cases).collect())
}

/// What the two said at the first step where they differ.
fn difference(case: &Case, theirs: &[Answer], ours: &[Answer]) -> Option<String> {
    let at = theirs.iter().zip(ours).position(|(a, b)| a != b)?;
    let ipam = serde_json::to_string(&case.ipam).expect("it was read from JSON");
    Some(format!(
        "{}: {:?} with {ipam}\n  whereabouts: {:?}\n  ipledger:    {:?}\n",
        case.id, case.steps[at], theirs[at], ours[at]
    ))
}

/// What is wrong with a pair of answers, and whether the case shows its differences.
fn judge(case: &Case, theirs: &[Answer], ours: &[Answer]) -> (Option<String>, bool) {
    let difference = difference(case, theirs, ours);
    let shows = difference.is_some();
    let wrong = match difference {
        Some(text) if case.differs.is_empty() => Some(text),
        Some(text) if is_generated(case) && !explained(case, theirs, ours) => Some(format!(
            "not explained by {}: {text}",
            case.differs.join(", ")
        )),
        None if !case.differs.is_empty() && !is_generated(case) => Some(format!(
            "{}: is documented to differ ({}), but does not\n",
            case.id,
            case.differs.join(", ")
        )),
        _ => None,
    };
    (wrong, shows)
}

#[test]
fn every_difference_from_whereabouts_is_documented_and_every_documented_one_is_there() -> Result<()>
{
    let cases = cases()?;
    ensure!(cases.len() >= 300, "{} cases", cases.len());
    let recorded = recorded()?;
    let ours = Ours::start(binaries::directory()?)?;
    let answers = parallel(&cases, |index, case| ours.answers(case, index % 10 == 0))?;
    let mut wrong = String::new();
    let mut shown = BTreeSet::new();
    for (case, ours) in cases.iter().zip(&answers) {
        let theirs = recorded.get(&case.id).map_or(&[][..], Vec::as_slice);
        ensure!(
            theirs.len() == case.steps.len(),
            "{}: record it first, with the record-whereabouts program",
            case.id
        );
        let (text, shows) = judge(case, theirs, ours);
        wrong += &text.unwrap_or_default();
        if shows && !is_generated(case) {
            shown.extend(case.differs.iter().cloned());
        }
    }
    let documented = documented::ids()?;
    for id in documented.symmetric_difference(&shown) {
        writeln!(wrong, "{id}: is documented or shown, but not both")?;
    }
    ensure!(wrong.is_empty(), "{wrong}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whereabouts_itself_answers_as_recorded() -> Result<()> {
    if let Err(error) = tokio::task::spawn_blocking(|| GoProgram::Whereabouts.build()).await? {
        say_not_run(
            "whereabouts_itself_answers_as_recorded",
            &format!("{error}"),
        );
        return Ok(());
    }
    let cases = cases()?;
    let recorded = recorded()?;
    let incumbent = Incumbent::start().await?;
    incumbent.prepare(&cases).await?;
    let run = || parallel(&cases, |_, case| incumbent.answers(case));
    let answers = tokio::task::block_in_place(run)?;
    let changed: Vec<&str> = cases
        .iter()
        .zip(&answers)
        .filter(|(case, answers)| recorded.get(&case.id) != Some(answers))
        .map(|(case, _)| case.id.as_str())
        .collect();
    ensure!(
        changed.is_empty(),
        "whereabouts answers otherwise than recorded: {changed:?}"
    );
    Ok(())
}
