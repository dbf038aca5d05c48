use std::time::Duration;

use ipledger_client::blocking::ClientError;

use super::prepared::Prepared;
use super::{Done, Session};
use crate::error::{ApiFailure, CniError};
use crate::input::PlainKeys;
use crate::queue::{is_permanent, is_settled};

/// A pod's removal waits for this; when the API does not answer so long, the queue takes over.
const LONGEST: Duration = Duration::from_secs(5);

/// Releases what this attachment holds. Success means that the ledger has the release, or that
/// it stands in a durable file on this node.
pub(super) fn run<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    let prepared = Prepared::tolerantly(session, stdin)?;
    let request = prepared.release_request(session.token.clone());
    let reason = match prepared.client() {
        Err(error) => error,
        Ok(client) => match client.release(&request, prepared.budget(LONGEST)) {
            Ok(response) => {
                if response.stale {
                    session
                        .log
                        .note("a later call was applied before; nothing was released");
                }
                prepared.deliver_a_few();
                return Ok(Done::silently());
            }
            Err(ClientError::Problem(problem)) if is_settled(&problem) => {
                session
                    .log
                    .note(format_args!("{}; nothing was released", problem.detail));
                return Ok(Done::silently());
            }
            Err(ClientError::Problem(problem)) if is_permanent(&problem) => {
                let error = ClientError::Problem(problem);
                return Err(ApiFailure {
                    error,
                    keys: &PlainKeys,
                }
                .into());
            }
            Err(error) => ApiFailure {
                error,
                keys: &PlainKeys,
            }
            .into(),
        },
    };
    match prepared.queue_release(request) {
        Ok(()) => {
            let directory = prepared.queue.directory().display();
            session
                .log
                .note(format_args!("the release waits in {directory}: {reason}"));
            Ok(Done::silently())
        }
        Err(error) => Err(error.and(format_args!(
            "and the release cannot be delivered: {reason}"
        ))),
    }
}
