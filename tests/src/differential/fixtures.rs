//! The cases and the recorded answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::case::Case;
use super::generate::generated;

/// The tables, one file each, and the generator's cases in files of their own.
const GROUPS: [&str; 5] = ["ranges", "merging", "results", "sequences", "refused"];
/// So many generated cases are in one file of answers.
const GENERATED_IN_ONE_FILE: usize = 400;

/// Answers of whereabouts to the steps of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The case.
    pub id: String,
    /// One for each step.
    pub answers: Vec<Answer>,
}

/// Cases whose answers are kept in one file.
#[derive(Debug)]
pub struct Group {
    /// The name of the file.
    pub name: String,
    /// In their order.
    pub cases: Vec<Case>,
}

fn path(name: &str, kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/whereabouts")
        .join(format!("{name}.{kind}.jsonl"))
}

fn lines<T: DeserializeOwned>(path: &PathBuf) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let parse = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), number + 1))
    };
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(parse)
        .collect()
}

/// Every case there is.
pub fn groups() -> Result<Vec<Group>> {
    let mut groups = Vec::new();
    for name in GROUPS {
        groups.push(Group {
            name: name.to_owned(),
            cases: lines(&path(name, "cases"))?,
        });
    }
    for (number, cases) in generated().chunks(GENERATED_IN_ONE_FILE).enumerate() {
        groups.push(Group {
            name: format!("generated-{number}"),
            cases: cases.to_vec(),
        });
    }
    let mut seen = std::collections::BTreeSet::new();
    for case in groups.iter().flat_map(|group| &group.cases) {
        ensure!(seen.insert(&case.id), "two cases are called {}", case.id);
    }
    Ok(groups)
}

/// The recorded answers by case.
pub fn recorded() -> Result<BTreeMap<String, Vec<Answer>>> {
    let mut all = BTreeMap::new();
    for group in groups()? {
        let recorded: Vec<Recorded> = lines(&path(&group.name, "answers"))?;
        all.extend(recorded.into_iter().map(|case| (case.id, case.answers)));
    }
    Ok(all)
}

/// Writes what a group's cases were answered.
pub fn write(group: &Group, answers: &[Recorded]) -> Result<()> {
    let mut text = String::new();
    for recorded in answers {
        text += &serde_json::to_string(recorded)?;
        text.push('\n');
    }
    fs::write(path(&group.name, "answers"), text)?;
    Ok(())
}
