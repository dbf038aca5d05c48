//! Findings for people.

use super::{Action, Correction, Findings};

const HEAD: [&str; 8] = [
    "SPACE", "ADDRESS", "STEP", "POD", "NODE", "ACTION", "REASON", "UNTIL",
];

impl Findings {
    /// A table with one row for each correction, and a line that sums them up.
    #[must_use]
    pub fn table(&self) -> String {
        let rows: Vec<[String; 8]> = self.corrections.iter().map(row).collect();
        let mut text = String::new();
        if !rows.is_empty() {
            let widths = widths(&rows);
            write_row(&mut text, &HEAD.map(str::to_owned), &widths);
            for row in &rows {
                write_row(&mut text, row, &widths);
            }
        }
        text.push_str(&self.summary());
        text
    }

    fn summary(&self) -> String {
        let count = |action| {
            let all = self.corrections.iter();
            all.filter(|correction| correction.action == action).count()
        };
        let parts: Vec<String> = [
            (Action::Freed, "freed"),
            (Action::Free, "to free"),
            (Action::NotFreed, "not freed"),
            (Action::Wait, "waiting"),
            (Action::Keep, "kept"),
        ]
        .into_iter()
        .filter_map(|(action, word)| match count(action) {
            0 => None,
            number => Some(format!("{number} {word}")),
        })
        .collect();
        let found = if parts.is_empty() {
            "nothing differs".to_owned()
        } else {
            parts.join(", ")
        };
        let (cluster, holds) = (&self.cluster, self.holds);
        format!("cluster {cluster}: {holds} held, {found}\n")
    }
}

fn row(correction: &Correction) -> [String; 8] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let until = correction.until.map(|until| until.to_string());
    [
        correction.key.space.clone(),
        correction.key.address.to_string(),
        correction.key.step.to_string(),
        or_dash(&correction.pod),
        or_dash(&correction.node),
        action(correction.action).to_owned(),
        correction.reason.to_owned(),
        or_dash(&until),
    ]
}

fn action(action: Action) -> &'static str {
    match action {
        Action::Free => "free",
        Action::Freed => "freed",
        Action::NotFreed => "not freed",
        Action::Wait => "wait",
        Action::Keep => "keep",
    }
}

fn widths(rows: &[[String; 8]]) -> [usize; 8] {
    std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([HEAD[column].len()]).max().unwrap_or(0)
    })
}

fn write_row(text: &mut String, row: &[String; 8], widths: &[usize; 8]) {
    let start = text.len();
    for (cell, width) in row.iter().zip(widths) {
        text.push_str(&format!("{cell:<width$}  "));
    }
    text.truncate(start + text[start..].trim_end().len());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::HoldKey;

    fn findings(corrections: Vec<Correction>) -> Findings {
        Findings {
            cluster: "prod".to_owned(),
            looked_at: jiff::Timestamp::UNIX_EPOCH,
            holds: 3,
            differs: !corrections.is_empty(),
            dry_run: true,
            corrections,
        }
    }

    #[test]
    fn rows_are_aligned_and_summed_up() {
        let correction = |address: &str, action, reason, until| Correction {
            key: HoldKey {
                space: "prod".to_owned(),
                address: address.parse().unwrap(),
                step: 2,
            },
            pod: Some("default/web-0".to_owned()),
            pod_uid: None,
            node: None,
            action,
            reason,
            until,
            evidence: None,
        };
        let until = Some(jiff::Timestamp::UNIX_EPOCH);
        let text = findings(vec![
            correction("10.0.0.1", Action::Free, "not_found", None),
            correction("10.0.0.200", Action::Wait, "grace", until),
        ])
        .table();
        assert_eq!(
            text,
            "SPACE  ADDRESS     STEP  POD            NODE  ACTION  REASON     UNTIL\n\
             prod   10.0.0.1    2     default/web-0  -     free    not_found  -\n\
             prod   10.0.0.200  2     default/web-0  -     wait    grace      1970-01-01T00:00:00Z\n\
             cluster prod: 3 held, 1 to free, 1 waiting\n"
        );
    }

    #[test]
    fn without_corrections_there_is_one_line() {
        let text = findings(Vec::new()).table();
        assert_eq!(text, "cluster prod: 3 held, nothing differs\n");
    }
}
