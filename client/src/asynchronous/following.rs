//! Events as they come.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Client;
use super::call::{piece_of, refused};
use crate::outcome::Account;
use crate::types::{Event, Problem};
use crate::{ClientError, target};

/// The API says something every fifteen seconds; a connection that is silent for longer is gone.
const SILENCE: Duration = Duration::from_secs(45);
/// No event is longer.
const LONGEST: usize = 16 * 1024 * 1024;

/// An open stream of events.
pub struct Following {
    address: String,
    response: reqwest::Response,
    /// What came and was not taken yet.
    text: Vec<u8>,
}

/// One event, and what to begin behind it with.
#[derive(Debug, Clone, PartialEq)]
pub struct FollowedEvent {
    /// The event.
    pub event: Event,
    /// Give it back as `last_event_id`, with the same other parameters.
    pub id: String,
}

impl Client {
    /// `GET /v1/follow`: opens the stream at the first address that serves it.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn follow(
        &self,
        parameters: &[(&'static str, Option<&str>)],
    ) -> Result<Following, ClientError> {
        let given = parameters
            .iter()
            .filter_map(|(key, value)| Some((*key, (*value)?)));
        let target = target::with_query("/v1/follow", given);
        let mut account = Account::default();
        let count = self.peers.len();
        let first = self.preferred.load(Ordering::Relaxed);
        for index in (0..count).map(|offset| (first + offset) % count) {
            let peer = &self.peers[index];
            match peer.open(&target).await {
                Ok(response) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(Following {
                        address: peer.address.to_string(),
                        response,
                        text: Vec::new(),
                    });
                }
                Err(failure) => account.note(&peer.address, failure)?,
            }
        }
        account.end_round(count)?;
        Err(account.into_error(false))
    }
}

impl Following {
    /// The next event; `None` when the stream ended and may be opened again.
    ///
    /// # Errors
    /// [`ClientError::Problem`] if the API said why it ends; [`ClientError::Protocol`] if what came
    /// is no event.
    pub async fn next(&mut self) -> Result<Option<FollowedEvent>, ClientError> {
        loop {
            while let Some(message) = self.message() {
                if let Some(event) = self.read(&message)? {
                    return Ok(Some(event));
                }
            }
            if self.text.len() > LONGEST {
                return Err(self.garbled("a message is too long"));
            }
            let piece = tokio::time::timeout(SILENCE, piece_of(&mut self.response)).await;
            match piece {
                Ok(Some(piece)) => self.text.extend_from_slice(&piece),
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    /// The next whole message, if it is there.
    fn message(&mut self) -> Option<String> {
        let end = self.text.windows(2).position(|two| two == b"\n\n")?;
        let rest = self.text.split_off(end + 2);
        let message = std::mem::replace(&mut self.text, rest);
        Some(String::from_utf8_lossy(&message).into_owned())
    }

    fn read(&self, message: &str) -> Result<Option<FollowedEvent>, ClientError> {
        let line = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
        match (line("event: "), line("data: "), line("id: ")) {
            (Some("event"), Some(data), Some(id)) => {
                let event = serde_json::from_str(data);
                let event = event.map_err(|error| self.garbled(&error.to_string()))?;
                let id = id.to_owned();
                Ok(Some(FollowedEvent { event, id }))
            }
            (Some("problem"), Some(data), _) => {
                let problem: Problem =
                    serde_json::from_str(data).map_err(|error| self.garbled(&error.to_string()))?;
                Err(refused(problem))
            }
            // A comment, or a type that this version does not know.
            _ => Ok(None),
        }
    }

    fn garbled(&self, reason: &str) -> ClientError {
        ClientError::Protocol {
            address: self.address.clone(),
            reason: format!("the stream of events is broken: {reason}"),
        }
    }
}
