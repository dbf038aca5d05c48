//! Which free address is handed out, and what becomes of it after its release: `order`, `cooldown`
//! and `sticky`.

use ipledger_client::types::AddressOrder;

use super::{Block, Field};
use crate::error::CniError;

const LONGEST_SECONDS: u32 = 31 * 24 * 3600;

/// Which of the free addresses; `None` if the definition does not say.
pub(super) fn order(block: &Block) -> Result<Option<AddressOrder>, CniError> {
    let Some(field) = block.get("order") else {
        return Ok(None);
    };
    match field.text()? {
        "lowest_free" => Ok(Some(AddressOrder::LowestFree)),
        "longest_idle" => Ok(Some(AddressOrder::LongestIdle)),
        _ => Err(field.wrong("is neither \"lowest_free\" nor \"longest_idle\"")),
    }
}

/// A time after the release: a number of seconds, or a text such as `60s`.
pub(super) fn rest_seconds(block: &Block, key: &str) -> Result<u32, CniError> {
    let Some(field) = block.get(key) else {
        return Ok(0);
    };
    match field.value.as_str() {
        Some(text) => whole_seconds(&field, text),
        None => field.integer_within(0, LONGEST_SECONDS),
    }
}

fn whole_seconds(field: &Field<'_>, text: &str) -> Result<u32, CniError> {
    let Some(nanoseconds) = go_duration(text) else {
        return Err(field.wrong("is no duration such as \"60s\" or \"1h30m\""));
    };
    if nanoseconds % SECOND != 0 {
        return Err(field.wrong("is not in whole seconds"));
    }
    u32::try_from(nanoseconds / SECOND)
        .ok()
        .filter(|seconds| *seconds <= LONGEST_SECONDS)
        .ok_or_else(|| field.wrong("is longer than 31 days (744h)"))
}

/// In nanoseconds.
const SECOND: u128 = 1_000_000_000;

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3600 * SECOND),
];

/// A duration as Go writes it, in nanoseconds: numbers with a fraction or without, each with its
/// unit; `0` needs none. Not below zero.
fn go_duration(text: &str) -> Option<u128> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text == "0" {
        return Some(0);
    }
    let mut rest = (!text.is_empty()).then_some(text)?;
    let mut sum: u128 = 0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(end);
        let end = behind.find(|c: char| c.is_ascii_digit() || c == '.');
        let (unit, behind) = behind.split_at(end.unwrap_or(behind.len()));
        let (_, nanoseconds) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum = sum.checked_add(times(number, *nanoseconds)?)?;
        rest = behind;
    }
    Some(sum)
}

/// A decimal number times a unit; what is less than a nanosecond is dropped.
fn times(number: &str, unit: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let digits = |text: &str| match text {
        "" => Some(0),
        text => text.parse::<u64>().ok().map(u128::from),
    };
    // Further digits are below a nanosecond of any unit.
    let fraction = &fraction[..fraction.len().min(15)];
    let scale = 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let parts = digits(fraction)? * unit / scale;
    digits(whole)?.checked_mul(unit)?.checked_add(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_in_go() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("60s", 60 * SECOND),
            ("+5s", 5 * SECOND),
            ("1h30m", 5400 * SECOND),
            ("1.5m", 90 * SECOND),
            (".5s", SECOND / 2),
            ("5.s", 5 * SECOND),
            ("1m0.25s", 60 * SECOND + SECOND / 4),
            ("250ms", SECOND / 4),
            ("3us", 3_000),
            ("3\u{b5}s", 3_000),
            ("10ns", 10),
        ] {
            assert_eq!(go_duration(text), Some(nanoseconds), "{text}");
        }
        for text in [
            "",
            "60",
            "s",
            "-5s",
            "5 s",
            "1d",
            "60S",
            "1h30",
            ".s",
            "1.2.3s",
            "5s ",
            "+",
            "1e3s",
            "99999999999999999999s",
        ] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }
}
