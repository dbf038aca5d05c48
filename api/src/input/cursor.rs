//! Cursors: where the next page begins, opaque to the caller and bound to its query.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ipledger_client::types::ProblemCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::problem::Failure;

/// The longest cursor that is given out, in bytes. It travels in a request line, and those are
/// limited everywhere.
const LONGEST: usize = 32 * 1024;

/// Reads and writes the cursors of one query.
#[derive(Debug)]
pub(crate) struct Cursor {
    /// The parameter that carries it.
    key: &'static str,
    list: &'static str,
    query: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<P> {
    list: String,
    query: BTreeMap<String, String>,
    at: P,
}

impl Cursor {
    /// The cursors of the list named `list` under these parameters.
    pub(crate) fn new<'a>(
        list: &'static str,
        query: impl IntoIterator<Item = (&'static str, Option<&'a str>)>,
    ) -> Self {
        Self::named("cursor", list, query)
    }

    /// The same under another parameter than `cursor`.
    pub(crate) fn named<'a>(
        key: &'static str,
        list: &'static str,
        query: impl IntoIterator<Item = (&'static str, Option<&'a str>)>,
    ) -> Self {
        let given = |(key, value): (&str, Option<&str>)| Some((key.to_owned(), value?.to_owned()));
        Self {
            key,
            list,
            query: query.into_iter().filter_map(given).collect(),
        }
    }

    /// Cuts a list that was read with more rows than a page may have, and gives the cursor of the
    /// next page then; none if the list ends here. `place` tells where a row stands.
    pub(crate) fn cut<T, P: Serialize>(
        &self,
        rows: &mut Vec<T>,
        limit: u32,
        place: impl FnOnce(&T) -> P,
    ) -> Result<Option<String>, Failure> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let last = rows.last().filter(|_| more);
        last.map(|last| self.write(&place(last))).transpose()
    }

    /// The cursor of the page that begins behind `at`.
    pub(crate) fn write<P: Serialize>(&self, at: &P) -> Result<String, Failure> {
        let content = Content {
            list: self.list.to_owned(),
            query: self.query.clone(),
            at,
        };
        let json = serde_json::to_vec(&content)
            .map_err(|error| Failure::internal(format!("cursor: {error}")))?;
        let text = URL_SAFE_NO_PAD.encode(json);
        if text.len() <= LONGEST {
            return Ok(text);
        }
        let detail = "space is missing: one reading over so many spaces has no cursor; \
                      list them one by one";
        let mut failure = Failure::new(ProblemCode::InvalidRequest, detail);
        failure = failure.about("space", "");
        Err(failure)
    }

    /// Where the cursor that the caller gave back points to.
    pub(crate) fn read<P: DeserializeOwned>(&self, text: &str) -> Result<P, Failure> {
        let garbled = || Failure::invalid(self.key, text, "is not a cursor of this service");
        let json = URL_SAFE_NO_PAD.decode(text).map_err(|_| garbled())?;
        // First only whose it is: the position of another list has another shape.
        let head: Content<serde_json::Value> =
            serde_json::from_slice(&json).map_err(|_| garbled())?;
        if head.list != self.list {
            let problem = format!("belongs to the list of {}", head.list);
            return Err(Failure::invalid(self.key, text, &problem));
        }
        if let Some(difference) = difference(&head.query, &self.query) {
            let problem = format!("belongs to another query, {difference}");
            return Err(Failure::invalid(self.key, text, &problem));
        }
        let content: Content<P> = serde_json::from_slice(&json).map_err(|_| garbled())?;
        Ok(content.at)
    }
}

/// The first parameter that two queries do not share, in words.
fn difference(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Option<String> {
    let changed = old.iter().find(|(key, value)| new.get(*key) != Some(value));
    if let Some((key, value)) = changed {
        return Some(format!("with {key} {value:?}"));
    }
    let added = new.keys().find(|key| !old.contains_key(*key))?;
    Some(format!("without {added}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(node: Option<&str>) -> Cursor {
        Cursor::new("holds", [("space", Some("prod")), ("node", node)])
    }

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let text = cursor(None).write(&("prod", 7)).unwrap();
        assert!(
            text.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        );
        let at: (String, u32) = cursor(None).read(&text).unwrap();
        assert_eq!(at, ("prod".to_owned(), 7));
    }

    #[test]
    fn a_cursor_of_another_query_is_refused_naming_it() {
        let text = cursor(Some("n1")).write(&7).unwrap();
        for (other, expected) in [
            (cursor(None), "belongs to another query, with node \"n1\""),
            (
                cursor(Some("n2")),
                "belongs to another query, with node \"n1\"",
            ),
            (
                Cursor::new("events", [("space", Some("prod"))]),
                "belongs to the list of holds",
            ),
        ] {
            let failure = other.read::<u32>(&text).unwrap_err();
            assert!(failure.detail().ends_with(expected), "{}", failure.detail());
            assert_eq!(failure.key(), Some("cursor"));
        }
        let text = cursor(None).write(&7).unwrap();
        let failure = cursor(Some("n1")).read::<u32>(&text).unwrap_err();
        assert!(
            failure.detail().ends_with("without node"),
            "{}",
            failure.detail()
        );
    }

    #[test]
    fn garbage_is_refused() {
        for text in ["", "%", "e30", "bm9wZQ", "eyJsaXN0IjoxfQ"] {
            let failure = cursor(None).read::<u32>(text).unwrap_err();
            assert_eq!(failure.value(), Some(text));
            assert_eq!(failure.code(), ProblemCode::InvalidRequest);
        }
        let other_shape = cursor(None).write(&"text").unwrap();
        assert!(cursor(None).read::<u32>(&other_shape).is_err());
    }

    #[test]
    fn a_cursor_that_would_be_too_long_asks_for_a_space() {
        let positions: Vec<u64> = vec![u64::MAX; 2000];
        let failure = cursor(None).write(&positions).unwrap_err();
        assert_eq!(failure.key(), Some("space"));
    }
}
