//! Who calls, and how that is known.

use std::sync::Arc;

use http::HeaderMap;
use http::header::USER_AGENT;

use crate::problem::Failure;

/// The header in which a caller names itself.
pub const ACTOR_HEADER: &str = "x-ipledger-actor";

/// The longest name that is recorded, in bytes.
const LONGEST_NAME: usize = 128;

/// What a connection tells about its other end.
#[derive(Debug, Clone)]
pub struct Peer {
    /// As events record it, for example `loopback` or `unix peer uid 0`.
    pub authenticated_by: Arc<str>,
}

impl Peer {
    /// A process of this machine, over TCP.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            authenticated_by: Arc::from("loopback"),
        }
    }

    /// A process of this machine, over a unix socket; the kernel vouches for its user.
    #[must_use]
    pub fn unix(uid: u32) -> Self {
        Self {
            authenticated_by: Arc::from(format!("unix peer uid {uid}")),
        }
    }
}

/// The name to record: the actor header, else the user agent, else `anonymous`. A header that
/// cannot be recorded as it is, is refused: another name in its place would be a wrong record.
pub(crate) fn actor_name(headers: &HeaderMap) -> Result<String, Failure> {
    let mut given = headers.get_all(ACTOR_HEADER).iter();
    if let Some(value) = given.next() {
        let text = String::from_utf8_lossy(value.as_bytes());
        if !is_visible(&text) {
            let problem = "is not 1 to 128 visible ASCII characters";
            return Err(Failure::invalid("X-Ipledger-Actor", &text, problem));
        }
        if given.next().is_some() {
            return Err(Failure::invalid("X-Ipledger-Actor", &text, "appears twice"));
        }
        return Ok(text.into_owned());
    }
    let agent = headers
        .get(USER_AGENT)
        .and_then(|value| value.to_str().ok());
    let name = agent.map(|text| text.get(..LONGEST_NAME).unwrap_or(text).trim());
    Ok(match name {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => "anonymous".to_owned(),
    })
}

/// 1 to 128 ASCII characters, none of them a space or a control character.
pub(crate) fn is_visible(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn name_of(headers: &[(&'static str, &str)]) -> Result<String, Failure> {
        let headers = headers
            .iter()
            .map(|(name, value)| {
                let name = http::HeaderName::from_static(name);
                (name, HeaderValue::from_bytes(value.as_bytes()).unwrap())
            })
            .collect();
        actor_name(&headers)
    }

    #[test]
    fn the_actor_header_wins_over_the_user_agent() {
        let actor = ("x-ipledger-actor", "jane@example.com");
        let agent = ("user-agent", "curl/8.5.0 (x86_64)");
        assert_eq!(name_of(&[actor, agent]).unwrap(), "jane@example.com");
        assert_eq!(name_of(&[agent]).unwrap(), "curl/8.5.0 (x86_64)");
        assert_eq!(name_of(&[]).unwrap(), "anonymous");
        assert_eq!(name_of(&[("user-agent", " ")]).unwrap(), "anonymous");
    }

    #[test]
    fn a_long_user_agent_is_cut() {
        let name = name_of(&[("user-agent", &"a".repeat(500))]).unwrap();
        assert_eq!(name.len(), 128);
    }

    #[test]
    fn an_actor_that_cannot_be_recorded_is_refused() {
        for value in ["", "two words", "tab\there", "ä", &"a".repeat(129)] {
            let failure = name_of(&[("x-ipledger-actor", value)]).unwrap_err();
            assert_eq!(failure.key(), Some("X-Ipledger-Actor"), "{value:?}");
        }
    }

    #[test]
    fn a_unix_peer_is_recorded_by_its_user() {
        assert_eq!(&*Peer::unix(1000).authenticated_by, "unix peer uid 1000");
    }
}
