//! Giving holds to the ledger.

use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use ipledger_client::asynchronous::Client;
use ipledger_client::types::ProblemCode;
use ipledger_client::{Budget, ClientError};
use serde::Serialize;

use super::analysis::Importable;

/// How long one hold may take, with all retries.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many are on their way at one time; the ledger takes in together what waits together.
const AT_ONCE: usize = 32;

/// What became of the holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Submitted {
    /// Recorded now.
    pub imported: usize,
    /// In the ledger before: a repeat changes nothing.
    pub held: usize,
    /// Imported before and ended since. Such a hold is never revived; the object is behind.
    pub ended: Vec<String>,
    /// Refused by the ledger, each with the reason.
    pub refused: Vec<Refused>,
}

/// A hold that the ledger refused.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Refused {
    /// The object and key that it was read from.
    pub from: String,
    /// The address.
    pub address: String,
    /// The API's code.
    pub code: String,
    /// In a sentence.
    pub detail: String,
}

/// The ledger went away in the middle.
#[derive(Debug, thiserror::Error)]
#[error(
    "{done} of {all} holds were given to the ledger, then: {source}; run it again, it goes on where it stopped"
)]
pub struct SubmitError {
    done: usize,
    all: usize,
    source: ClientError,
}

impl SubmitError {
    /// A fixed word for tests and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.source.kind()
    }
}

/// Imports the holds. `progress` is told how many are done. A repeat appends nothing.
///
/// # Errors
/// The ledger cannot be reached. A hold that it refuses is no error; see [`Submitted::refused`].
pub async fn submit(
    holds: &[Importable],
    ledger: &Client,
    progress: impl Fn(usize),
) -> Result<Submitted, SubmitError> {
    let mut submitted = Submitted::default();
    let mut results = stream::iter(holds)
        .map(async |hold| {
            let budget = Budget::within(PATIENCE);
            (hold, ledger.import_hold(&hold.request, budget).await)
        })
        .buffer_unordered(AT_ONCE);
    let mut done = 0;
    while let Some((hold, result)) = results.next().await {
        match result {
            Ok(response) => match response.outcome.as_str() {
                "imported" => submitted.imported += 1,
                "ended" => submitted.ended.push(hold.label.clone()),
                _ => submitted.held += 1,
            },
            Err(ClientError::Problem(problem)) if is_about_the_hold(problem.code) => {
                submitted.refused.push(Refused {
                    from: hold.label.clone(),
                    address: hold.request.address.clone(),
                    code: problem.code.as_str().to_owned(),
                    detail: problem.detail,
                });
            }
            Err(source) => {
                let all = holds.len();
                return Err(SubmitError { done, all, source });
            }
        }
        done += 1;
        progress(done);
    }
    submitted.ended.sort();
    submitted.refused.sort();
    Ok(submitted)
}

/// Refusals that another hold would not meet.
fn is_about_the_hold(code: ProblemCode) -> bool {
    matches!(
        code,
        ProblemCode::InvalidRequest
            | ProblemCode::AddressTaken
            | ProblemCode::AddressReserved
            | ProblemCode::AddressKept
            | ProblemCode::AddressCooling
            | ProblemCode::AttachmentConflict
            | ProblemCode::SpaceConflict
    )
}
