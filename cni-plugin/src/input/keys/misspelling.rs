//! Unknown keys that look like a slip of the pen.

use crate::error::{CniError, Code};
use crate::input::Field;

/// The refusal of a key that looks like a misspelling of a known one.
pub(super) fn misspelled<'a>(
    key: &Field<'_>,
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<CniError> {
    let meant = suggestion(name, known)?;
    let why = format!("is the value of an unknown key; did you mean \"{meant}\"?");
    Some(CniError::value(
        Code::UnsupportedField,
        &key.label(),
        key.value,
        &why,
    ))
}

/// What host-local calls our keys.
const OF_OTHERS: [(&str, &str); 1] = [("subnet", "range")];

/// The known key that an unknown one resembles.
fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if known.clone().any(|key| key.eq_ignore_ascii_case(name)) {
        return None;
    }
    if let Some((_, ours)) = OF_OTHERS.iter().find(|(theirs, _)| *theirs == name) {
        return known.clone().find(|key| key == ours);
    }
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let name = plain(name);
    // One slip in a short word, two in a long one.
    let slips = |key: &str| if key.len() < 8 { 1 } else { 2 };
    known
        .map(|key| (distance(&name, &plain(key)), key))
        .filter(|(distance, key)| *distance <= slips(key))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

/// Levenshtein distance, with neighbours that changed places counted once.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<_>, Vec<_>) = (left.chars().collect(), right.chars().collect());
    let mut rows = vec![(0..=right.len()).collect::<Vec<_>>()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_words_are_left_alone() {
        for (written, meant) in [
            ("rangeStart", Some("range_start")),
            ("range-end", Some("range_end")),
            ("ranges", Some("range")),
            ("ip_ranges", Some("ipRanges")),
            ("exlcude", Some("exclude")),
            ("excludes", Some("exclude")),
            ("gatway", Some("gateway")),
            ("enable_overlaping_range", Some("enable_overlapping_ranges")),
            ("netwrok_name", Some("network_name")),
            ("clusters", Some("cluster")),
            ("RANGE", None),
            ("gateway", None),
            ("comment", None),
            ("vlan", None),
            ("subnet", Some("range")),
            ("owner", None),
        ] {
            let known = super::super::KNOWN.iter().map(|(name, _)| *name);
            assert_eq!(suggestion(written, known), meant, "{written}");
        }
    }
}
