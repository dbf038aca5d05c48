use std::time::Duration;

use ipledger_client::blocking::ClientError;
use ipledger_client::types::{CheckRangesRequest, CheckRangesResponse};

use super::prepared::Prepared;
use super::{Done, Session};
use crate::error::{ApiFailure, CniError, Code};
use crate::input::{Definition, WhenExhausted};

/// Runtimes ask often and want to know about now; there is no use in waiting for better times.
const LONGEST: Duration = Duration::from_secs(5);

/// Would an ADD be served now?
pub(super) fn run<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    let prepared = Prepared::strictly(session, stdin)?;
    let definition = prepared.definition()?;
    let client = prepared.client()?;
    let budget = prepared.budget(LONGEST).one_round();
    client
        .ready(budget)
        .map_err(|error| unavailable(error, &definition))?;
    if !definition.ranges.is_empty() {
        let request = request(&prepared, &definition);
        let answer = client.check_ranges(&request, budget);
        let answer = answer.map_err(|error| unavailable(error, &definition))?;
        check_exhaustion(&definition, &answer)?;
    }
    prepared.deliver_a_few();
    Ok(Done::silently())
}

fn request(prepared: &Prepared<'_>, definition: &Definition) -> CheckRangesRequest {
    CheckRangesRequest {
        cluster: prepared.settings.cluster.clone(),
        network_name: definition.network_name.clone(),
        enable_overlapping_ranges: definition.enable_overlapping_ranges,
        ranges: definition
            .ranges
            .iter()
            .map(|range| range.request.clone())
            .collect(),
    }
}

/// A definition that cannot be meant is its author's to mend and keeps its code; everything
/// else is an ADD that would not be served.
fn unavailable(error: ClientError, definition: &Definition) -> CniError {
    let error = CniError::from(ApiFailure {
        error,
        keys: definition,
    });
    match error.code {
        Code::InvalidConfig | Code::Conflict | Code::Forbidden => error,
        _ => error.with_code(Code::NotAvailable),
    }
}

fn check_exhaustion(definition: &Definition, answer: &CheckRangesResponse) -> Result<(), CniError> {
    let full: Vec<_> = answer
        .windows
        .iter()
        .filter(|window| window.counts.free == "0")
        .collect();
    let reported = match definition.when_exhausted {
        WhenExhausted::All => !full.is_empty() && full.len() == answer.windows.len(),
        WhenExhausted::Any => !full.is_empty(),
        WhenExhausted::Never => false,
    };
    if !reported || answer.servable {
        return Ok(());
    }
    let full = full.iter().map(|window| {
        let counts = &window.counts;
        format!(
            "{} (held {}, cooling {})",
            window.pool, counts.held, counts.cooling
        )
    });
    let full = full.collect::<Vec<_>>().join(", ");
    Err(CniError::new(
        Code::NotAvailable,
        format!("no address is free in {full}"),
    ))
}
