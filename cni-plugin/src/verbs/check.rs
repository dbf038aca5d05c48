use std::net::IpAddr;
use std::time::Duration;

use super::prepared::Prepared;
use super::{Done, Session};
use crate::error::{ApiFailure, CniError, Code};
use crate::input::{Definition, previous_addresses};

/// Some runtimes check every pod right after its ADD.
const LONGEST: Duration = Duration::from_secs(10);

/// Compares what the ledger holds for the attachment with the result of its ADD. Reads only.
pub(super) fn run<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    let prepared = Prepared::strictly(session, stdin)?;
    let definition = prepared.definition()?;
    let previous = previous_addresses(&prepared.network)?;
    if definition.ranges.is_empty() {
        return Ok(Done::silently());
    }
    let attachment = prepared.attachment();
    let held = prepared
        .client()?
        .lookup(&attachment, prepared.budget(LONGEST))
        .map_err(|error| {
            CniError::from(ApiFailure {
                error,
                keys: &definition,
            })
        })?;
    let held: Vec<IpAddr> = held
        .iter()
        .flat_map(|response| &response.addresses)
        .filter_map(|allocated| allocated.address.parse().ok())
        .collect();
    compare(&definition, previous.as_deref(), &held)?;
    prepared.deliver_a_few();
    Ok(Done::silently())
}

fn compare(
    definition: &Definition,
    previous: Option<&[IpAddr]>,
    held: &[IpAddr],
) -> Result<(), CniError> {
    let not_reserved = |message: String| Err(CniError::new(Code::NotReserved, message));
    if held.is_empty() {
        return not_reserved("the ledger holds no address for this attachment".to_owned());
    }
    let Some(previous) = previous else {
        return Ok(());
    };
    // Addresses and routes that later plugins added are not ours to judge.
    let ours = |address: &&IpAddr| definition.hands_out(**address);
    let lost = list(
        previous
            .iter()
            .filter(ours)
            .filter(|address| !held.contains(address)),
    );
    if !lost.is_empty() {
        return not_reserved(format!(
            "prevResult has {lost}, but the ledger holds {} for this attachment",
            list(held.iter())
        ));
    }
    // Of an imported hold the ledger may not know the interface, and name those of another one as
    // well: a range is in order if one of its addresses is.
    let settled = |address: &IpAddr| {
        definition.ranges.iter().any(|range| {
            let mut confirmed = held.iter().filter(|held| previous.contains(held));
            range.contains(*address) && confirmed.any(|held| range.contains(*held))
        })
    };
    let unused = list(
        held.iter()
            .filter(|address| !previous.contains(address) && !settled(address)),
    );
    if !unused.is_empty() {
        return not_reserved(format!(
            "the ledger holds {unused} for this attachment, which prevResult does not have"
        ));
    }
    Ok(())
}

fn list<'a>(addresses: impl Iterator<Item = &'a IpAddr>) -> String {
    addresses
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
