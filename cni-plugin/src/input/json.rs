//! JSON as Go reads it: of two spellings of one key the last one counts, two objects are laid over
//! each other, and `null` says nothing.

use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A key that stands twice in one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repeated {
    /// Where the object stands: `ipam`, `ipam.ipRanges`; empty at the top.
    pub(crate) object: String,
    pub(crate) first: String,
    pub(crate) last: String,
    /// What is left of it.
    pub(crate) value: Value,
}

/// Parses a document and tells which keys stand twice in it.
pub(crate) fn parse(bytes: &[u8]) -> Result<(Value, Vec<Repeated>), serde_json::Error> {
    let mut repeated = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Reader {
        place: &Place::Top,
        repeated: &mut repeated,
    };
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, repeated))
}

/// The path to a value, as a list that lives on the stack.
enum Place<'a> {
    Top,
    Below(&'a Place<'a>, &'a str),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Top => Ok(()),
            Place::Below(Place::Top, key) => formatter.write_str(key),
            Place::Below(parent, key) => write!(formatter, "{parent}.{key}"),
        }
    }
}

struct Reader<'a> {
    place: &'a Place<'a>,
    repeated: &'a mut Vec<Repeated>,
}

impl<'de> DeserializeSeed<'de> for Reader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reader<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Reader {
            place: self.place,
            repeated: &mut *self.repeated,
        })? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut spellings: HashMap<String, String> = HashMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Reader {
                place: &Place::Below(self.place, &key),
                repeated: &mut *self.repeated,
            })?;
            let earlier = spellings.insert(folded(&key), key.clone());
            if let Some(first) = earlier {
                if value.is_null() {
                    spellings.insert(folded(&first), first);
                    continue;
                }
                let whole = merged(map.remove(&first), value.clone());
                map.insert(key.clone(), whole);
                self.repeated.push(Repeated {
                    object: self.place.to_string(),
                    first,
                    last: key,
                    value,
                });
                continue;
            }
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

/// The last value; of two objects all keys, of which the last one's count.
fn merged(earlier: Option<Value>, value: Value) -> Value {
    match (earlier, value) {
        (Some(Value::Object(mut all)), Value::Object(last)) => {
            all.extend(last.into_iter().filter(|(_, value)| !value.is_null()));
            Value::Object(all)
        }
        (_, value) => value,
    }
}

/// What two spellings of one key have in common. `Gateway` is a key of its own in whereabouts,
/// beside `gateway`.
fn folded(key: &str) -> String {
    if key == "Gateway" {
        return key.to_owned();
    }
    key.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_spelling_counts_and_null_says_nothing() {
        for (text, value, repeated) in [
            (r#"{"range":1,"RANGE":2}"#, json!({ "RANGE": 2 }), 1),
            (r#"{"RANGE":1,"range":2}"#, json!({ "range": 2 }), 1),
            (r#"{"range":1,"range":2}"#, json!({ "range": 2 }), 1),
            (r#"{"range":1,"RANGE":null}"#, json!({ "range": 1 }), 0),
            (
                r#"{"dns":{"a":1,"b":1},"DNS":{"b":2,"a":null}}"#,
                json!({ "DNS": { "a": 1, "b": 2 } }),
                1,
            ),
            (
                r#"{"gateway":1,"Gateway":2}"#,
                json!({ "gateway": 1, "Gateway": 2 }),
                0,
            ),
        ] {
            let (read, found) = parse(text.as_bytes()).unwrap();
            assert_eq!((read, found.len()), (value, repeated), "{text}");
        }
    }

    #[test]
    fn a_repeated_key_is_told_with_its_place() {
        let (_, found) = parse(br#"{"a":{"list":[{"key":1,"Key":2}]}}"#).unwrap();
        let expected = Repeated {
            object: "a.list".to_owned(),
            first: "key".to_owned(),
            last: "Key".to_owned(),
            value: json!(2),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn everything_else_is_read_as_it_stands() {
        let text = r#"{"a":[1,-2,1.5,"x",null,true,{}],"b":18446744073709551615}"#;
        let (read, found) = parse(text.as_bytes()).unwrap();
        assert_eq!(read, serde_json::from_str::<Value>(text).unwrap());
        assert!(found.is_empty());
        for broken in ["", "{", "{} {}", "[1,]", "{\"a\":1,}", "nul"] {
            parse(broken.as_bytes()).unwrap_err();
        }
        parse("[".repeat(10_000).as_bytes()).unwrap_err();
    }
}
