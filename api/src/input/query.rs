//! Query parameters: each at most once, none that is not known.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use axum::extract::FromRequestParts;
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::problem::Failure;

/// The longest wait for something new.
const LONGEST_WAIT_SECONDS: u64 = 60;

/// The parameters of a request. Take what is known, then call [`Query::end`].
#[derive(Debug)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
    known: Vec<&'static str>,
}

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl Query {
    fn parse(text: &str) -> Result<Self, Failure> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let key = decode(key)
                .map_err(|()| Failure::invalid("query", key, "is not UTF-8 in percent encoding"))?;
            let value = decode(value).map_err(|()| {
                Failure::invalid(key.as_str(), value, "is not UTF-8 in percent encoding")
            })?;
            if pairs.iter().any(|(other, _)| *other == key) {
                return Err(Failure::invalid(key, &value, "appears twice"));
            }
            pairs.push((key, value));
        }
        Ok(Self {
            pairs,
            known: Vec::new(),
        })
    }

    /// A parameter as text.
    pub(crate) fn text(&mut self, key: &'static str) -> Option<String> {
        self.known.push(key);
        let index = self.pairs.iter().position(|(name, _)| name == key)?;
        Some(self.pairs.swap_remove(index).1)
    }

    /// A parameter that must be there.
    pub(crate) fn required(&mut self, key: &'static str) -> Result<String, Failure> {
        self.text(key).ok_or_else(|| Failure::missing(key))
    }

    /// An integer without sign.
    pub(crate) fn number(&mut self, key: &'static str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.text(key) else {
            return Ok(None);
        };
        let plain = text.bytes().all(|byte| byte.is_ascii_digit());
        match u64::from_str(&text) {
            Ok(number) if plain => Ok(Some(number)),
            _ => Err(Failure::invalid(key, &text, "is not an integer from 0 on")),
        }
    }

    /// An address.
    pub(crate) fn address(&mut self, key: &'static str) -> Result<Option<IpAddr>, Failure> {
        self.text(key)
            .map(|text| crate::check::address(key, &text))
            .transpose()
    }

    /// The length of a page: `limit`, from 1 to `most`.
    pub(crate) fn limit(&mut self, usual: u32, most: u32) -> Result<u32, Failure> {
        let Some(text) = self.text("limit") else {
            return Ok(usual);
        };
        match u32::from_str(&text) {
            Ok(limit) if (1..=most).contains(&limit) => Ok(limit),
            _ => {
                let problem = format!("is not an integer from 1 to {most}");
                Err(Failure::invalid("limit", &text, &problem))
            }
        }
    }

    /// How long to wait for something new: `wait_seconds`, from 0 to 60.
    pub(crate) fn wait(&mut self) -> Result<Duration, Failure> {
        match self.number("wait_seconds")? {
            None => Ok(Duration::ZERO),
            Some(seconds) if seconds <= LONGEST_WAIT_SECONDS => Ok(Duration::from_secs(seconds)),
            Some(other) => {
                let problem = format!("is not an integer from 0 to {LONGEST_WAIT_SECONDS}");
                Err(Failure::invalid(
                    "wait_seconds",
                    &other.to_string(),
                    &problem,
                ))
            }
        }
    }

    /// Refuses what nobody took.
    pub(crate) fn end(self) -> Result<(), Failure> {
        let Some((key, value)) = self.pairs.into_iter().next() else {
            return Ok(());
        };
        let known = match self.known.as_slice() {
            [] => "is not a parameter here; there is none".to_owned(),
            known => format!("is not a parameter here; there are {}", known.join(", ")),
        };
        Err(Failure::invalid(key, &value, &known))
    }
}

fn decode(text: &str) -> Result<String, ()> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| ())?;
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_taken_once() {
        let mut query = Query::parse("space=prod%2Fblue&limit=5&&as_of=0").unwrap();
        assert_eq!(query.text("space").as_deref(), Some("prod/blue"));
        assert_eq!(query.text("space"), None);
        assert_eq!(query.limit(500, 5000).unwrap(), 5);
        assert_eq!(query.number("as_of").unwrap(), Some(0));
        query.end().unwrap();
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_known_ones() {
        let mut query = Query::parse("spce=prod").unwrap();
        assert_eq!(query.text("space"), None);
        assert_eq!(query.number("as_of").unwrap(), None);
        assert_eq!(
            query.end().unwrap_err().detail(),
            "spce \"prod\" is not a parameter here; there are space, as_of"
        );
    }

    #[test]
    fn repeats_and_broken_encodings_are_refused() {
        for (text, key) in [("a=1&a=2", "a"), ("a=%ff", "a"), ("%ff=1", "query")] {
            assert_eq!(Query::parse(text).unwrap_err().key(), Some(key), "{text}");
        }
    }

    #[test]
    fn numbers_have_no_sign_and_a_range() {
        for text in [
            "as_of=-1",
            "as_of=+1",
            "as_of=",
            "as_of=1.5",
            "as_of=18446744073709551616",
        ] {
            let failure = Query::parse(text).unwrap().number("as_of").unwrap_err();
            assert_eq!(failure.key(), Some("as_of"), "{text}");
        }
        for text in ["limit=0", "limit=5001", "limit=all"] {
            let failure = Query::parse(text).unwrap().limit(500, 5000).unwrap_err();
            assert!(
                failure
                    .detail()
                    .ends_with("is not an integer from 1 to 5000"),
                "{text}"
            );
        }
    }
}
