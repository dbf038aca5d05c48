//! The commands of docs/install.md, so that what is tested is what is written.

use super::read;

/// The commands in the `sh` blocks under `## heading`, in order. A command may go over several
/// lines inside quotes or after a backslash.
pub(super) fn commands(heading: &str) -> Vec<String> {
    let text = read("docs/install.md");
    let start = format!("\n## {heading}\n");
    let (_, section) = text
        .split_once(&start)
        .unwrap_or_else(|| panic!("no section {heading:?}"));
    let section = section.split("\n## ").next().unwrap_or_default();
    section
        .split("```sh\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .flat_map(split)
        .collect()
}

fn split(block: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut command = String::new();
    for line in block.lines() {
        command.push_str(line);
        let is_open = command.matches('\'').count() % 2 == 1 || line.ends_with('\\');
        if is_open {
            command.push('\n');
        } else if !command.trim().is_empty() {
            commands.push(std::mem::take(&mut command));
        }
    }
    assert!(command.is_empty(), "the command has no end: {command}");
    commands
}

#[test]
fn commands_over_several_lines_stay_whole() {
    let block = "a b\nc \\\n  d\n\ne '{\n  \"f\": 1\n}'\n";
    assert_eq!(split(block), ["a b", "c \\\n  d", "e '{\n  \"f\": 1\n}'"]);
}
