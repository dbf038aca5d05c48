//! Bytes and hashes, version 1. `docs/event-encoding.md` has the rules and test vectors.

use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Version of the payload encoding that this code writes.
pub const ENCODING: i16 = 1;

/// 16 bytes that stand for an attachment or an owner in indexes.
pub type Key = u128;

/// The first 16 bytes of the SHA-256 of the parts, each followed by a zero byte.
#[must_use]
pub fn key_of(parts: &[&str]) -> Key {
    let digest = digest_parts(parts);
    Key::from_be_bytes(digest[..16].try_into().expect("a SHA-256 has 32 bytes"))
}

/// The first 8 bytes of the SHA-256 of the parts, each followed by a zero byte.
#[must_use]
pub fn fingerprint_of(parts: &[&str]) -> u64 {
    let digest = digest_parts(parts);
    u64::from_be_bytes(digest[..8].try_into().expect("a SHA-256 has 32 bytes"))
}

fn digest_parts(parts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update([0]);
    }
    hasher.finalize().into()
}

/// Canonical JSON: UTF-8, keys of every object in byte order, no white space, only integers.
///
/// # Panics
/// Never for types that serialize to JSON with text keys, which all payloads do.
#[must_use]
pub fn canonical_json<T: Serialize>(value: &T) -> Vec<u8> {
    // Structs list their fields in byte order, so only free-form maps need sorting, and they
    // are sorted when they come in (see `sorted`).
    serde_json::to_vec(value).expect("payloads have text keys and no failing serializers")
}

/// The same JSON with the keys of every object in byte order, whatever map type serde_json was
/// built with.
#[must_use]
pub fn sorted(object: &Map<String, Value>) -> Map<String, Value> {
    let mut keys: Vec<&String> = object.keys().collect();
    keys.sort_unstable();
    keys.into_iter()
        .map(|key| (key.clone(), sorted_value(&object[key])))
        .collect()
}

fn sorted_value(value: &Value) -> Value {
    match value {
        Value::Object(object) => Value::Object(sorted(object)),
        Value::Array(items) => Value::Array(items.iter().map(sorted_value).collect()),
        other => other.clone(),
    }
}

/// The path of the first number that is not an integer of 64 bits, if there is one. Floating
/// point has no canonical text that all programs agree on.
#[must_use]
pub fn find_fraction(path: &str, value: &Value) -> Option<String> {
    find(path, value, is_fraction).map(|(path, _)| path)
}

/// The first part of a free-form value that cannot be recorded: path, value, and why.
#[must_use]
pub fn find_unfit(path: &str, value: &Value) -> Option<(String, String, &'static str)> {
    let unfit = |judge, problem| {
        let (path, value) = find(path, value, judge)?;
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        Some((path, text, problem))
    };
    unfit(is_fraction, "is not an integer of 64 bits")
        // PostgreSQL cannot read it back as JSON.
        .or_else(|| unfit(has_nul, "contains U+0000"))
}

fn is_fraction(value: &Value) -> bool {
    matches!(value, Value::Number(number) if !number.is_i64() && !number.is_u64())
}

fn has_nul(value: &Value) -> bool {
    matches!(value, Value::String(text) if text.contains('\0'))
}

/// The first part, or key, that is judged so, with its path.
fn find(path: &str, value: &Value, judge: fn(&Value) -> bool) -> Option<(String, Value)> {
    if judge(value) {
        return Some((path.to_owned(), value.clone()));
    }
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find(&format!("{path}[{index}]"), item, judge)),
        Value::Object(object) => object.iter().find_map(|(key, item)| {
            find(path, &Value::from(key.as_str()), judge)
                .or_else(|| find(&format!("{path}.{key}"), item, judge))
        }),
        _ => None,
    }
}

/// SHA-256 of a payload's bytes.
#[must_use]
pub fn payload_digest(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// What the hash of an event covers.
#[derive(Debug, Clone, Copy)]
pub struct Header<'a> {
    /// Name of the space.
    pub space: &'a str,
    /// Position in the space.
    pub seq: u64,
    /// Epoch.
    pub epoch: u32,
    /// Address and step, or neither.
    pub address: Option<(std::net::IpAddr, u32)>,
    /// Time of record, in microseconds since 1970-01-01T00:00:00Z.
    pub recorded_at_us: i64,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// Hash of the event before it; zeros for the first.
    pub previous: [u8; 32],
}

impl Header<'_> {
    /// The hash of the event.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text()).into()
    }

    /// The text that is hashed: nine lines.
    #[must_use]
    pub fn text(&self) -> String {
        let (address, step) = match self.address {
            Some((std::net::IpAddr::V4(ip), step)) => (hex(&ip.octets()), step.to_string()),
            Some((std::net::IpAddr::V6(ip), step)) => (hex(&ip.octets()), step.to_string()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        format!(
            "ipledger event v1\n{}\n{}\n{}\n{address}\n{step}\n{}\n{}\n{}\n",
            self.space,
            self.seq,
            self.epoch,
            self.recorded_at_us,
            hex(&self.digest),
            hex(&self.previous),
        )
    }
}

/// Lower-case hexadecimal text.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            write!(text, "{byte:02x}").expect("writing to a String cannot fail");
            text
        })
}
