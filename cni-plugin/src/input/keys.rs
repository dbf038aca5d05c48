use super::Field;
use crate::error::{CniError, Code};

/// Every key that an `ipam` object or a flat file may have: whereabouts' and ours.
const KNOWN: [&str; 43] = [
    "type",
    "range",
    "range_start",
    "range_end",
    "exclude",
    "ipRanges",
    "gateway",
    "routes",
    "dns",
    "addresses",
    "enable_overlapping_ranges",
    "network_name",
    "node_slice_size",
    "kubernetes",
    "configuration_path",
    "leader_lease_duration",
    "leader_renew_deadline",
    "leader_retry_period",
    "log_file",
    "log_level",
    "reconciler_cron_expression",
    "sleep_for_race",
    "datastore",
    "etcd_host",
    "etcd_username",
    "etcd_password",
    "etcd_key_file",
    "etcd_cert_file",
    "etcd_ca_cert_file",
    "Name",
    "PodName",
    "PodNamespace",
    "api",
    "cluster",
    "cluster_uid",
    "token_file",
    "queue_dir",
    "timeout_seconds",
    "node",
    "order",
    "cooldown",
    "sticky",
    "status_when_exhausted",
];

/// The keys of an element of `ipRanges`.
const KNOWN_IN_RANGE: [&str; 4] = ["range", "range_start", "range_end", "exclude"];

/// Refuses a key that looks like a misspelling of a known one. Other unknown keys are left to
/// whoever knows them.
pub(crate) fn refuse_misspelling(
    key: &Field<'_>,
    name: &str,
    in_range: bool,
) -> Result<(), CniError> {
    let known: &[&str] = if in_range { &KNOWN_IN_RANGE } else { &KNOWN };
    let Some(meant) = suggestion(name, known) else {
        return Ok(());
    };
    let why = format!("is the value of an unknown key; did you mean \"{meant}\"?");
    Err(CniError::value(
        Code::UnsupportedField,
        &key.label(),
        key.value,
        &why,
    ))
}

/// The known key that an unknown one resembles.
fn suggestion<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.iter().any(|key| key.eq_ignore_ascii_case(name)) {
        return None;
    }
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let name = plain(name);
    // One slip in a short word, two in a long one.
    let slips = |key: &str| if key.len() < 8 { 1 } else { 2 };
    known
        .iter()
        .map(|key| (distance(&name, &plain(key)), *key))
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
            ("subnet", None),
            ("owner", None),
        ] {
            assert_eq!(suggestion(written, &KNOWN), meant, "{written}");
        }
    }
}
