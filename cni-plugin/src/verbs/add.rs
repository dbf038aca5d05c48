use std::time::Duration;

use ipledger_client::blocking::{Budget, Client, ClientError};
use ipledger_client::types::{AllocateRequest, AllocateResponse, ProblemCode};

use super::prepared::Prepared;
use super::{Done, Session};
use crate::error::{ApiFailure, CniError, Code};
use crate::input::{Definition, Mode};
use crate::queue::Delivery;
use crate::result::{AssignedIp, Assignment};

/// The configured time may be all of it.
const UNLIMITED: Duration = Duration::MAX;

/// Allocates one address out of each range, all or none, and prints the result.
pub(super) fn run<'a>(session: &'a Session<'a>, stdin: &[u8]) -> Result<Done<'a>, CniError> {
    let (prepared, definition) = read(session, stdin)?;
    let mut ips = Vec::new();
    if let Some(request) = request(&prepared, &definition) {
        let response = allocate(&prepared, &definition, &request)?;
        ips = assigned(&definition, &response).ok_or_else(|| {
            let message = "the API's answer does not have one address for each range";
            undo(&prepared, CniError::new(Code::TryAgainLater, message))
        })?;
    }
    let from_ledger = !ips.is_empty();
    ips.extend(definition.static_addresses.iter().cloned());
    let assignment = Assignment {
        ips,
        routes: definition.routes,
        dns: definition.dns,
    };
    let output = assignment.render(prepared.network.version)?;
    Ok(Done {
        output,
        undo: from_ledger.then(|| Box::new(move || give_back(&prepared)) as _),
    })
}

/// What an ADD would ask the API for, without asking; `None` if it needs nothing of it.
pub(super) fn plan<'a>(
    session: &'a Session<'a>,
    stdin: &[u8],
) -> Result<Option<AllocateRequest>, CniError> {
    let (prepared, definition) = read(session, stdin)?;
    Ok(request(&prepared, &definition))
}

fn read<'a>(
    session: &'a Session<'a>,
    stdin: &[u8],
) -> Result<(Prepared<'a>, Definition), CniError> {
    let prepared = Prepared::strictly(session, stdin)?;
    let definition = prepared.definition()?;
    check_that_something_is_asked(&definition)?;
    Ok((prepared, definition))
}

fn check_that_something_is_asked(definition: &Definition) -> Result<(), CniError> {
    if !definition.ranges.is_empty() {
        return Ok(());
    }
    if let Some(requested) = definition.requested.first() {
        let value = requested.address.to_string().into();
        let why = "is requested, but the definition has no range";
        return Err(CniError::value(
            Code::InvalidConfig,
            &requested.key,
            &value,
            why,
        ));
    }
    if definition.mode == Mode::Strict && definition.static_addresses.is_empty() {
        let why = "is missing, and so are ipRanges and addresses: there is nothing to hand out";
        return Err(CniError::key(Code::InvalidConfig, "range", why));
    }
    Ok(())
}

/// Without a range there is nothing to ask for.
fn request(prepared: &Prepared<'_>, definition: &Definition) -> Option<AllocateRequest> {
    (!definition.ranges.is_empty()).then(|| AllocateRequest {
        attachment: prepared.attachment(),
        owner: prepared.arguments.owner(prepared.settings.node.as_deref()),
        cluster_uid: prepared.settings.cluster_uid.clone(),
        token: prepared.session.token.clone(),
        network_name: definition.network_name.clone(),
        enable_overlapping_ranges: definition.enable_overlapping_ranges,
        ranges: definition
            .ranges
            .iter()
            .map(|range| range.request.clone())
            .collect(),
        ips: definition
            .requested
            .iter()
            .map(|ip| ip.address.to_string())
            .collect(),
        order: definition.order,
        cooldown_seconds: definition.cooldown_seconds,
        sticky_seconds: definition.sticky_seconds,
        dry_run: false,
        deadline_ms: None,
        claimed_at: Some(prepared.session.host.now_text()),
    })
}

/// Asks the API. Releases that wait on this node go first: what they free may be what is asked
/// for.
fn allocate(
    prepared: &Prepared<'_>,
    definition: &Definition,
    request: &AllocateRequest,
) -> Result<AllocateResponse, CniError> {
    let client = prepared.client()?;
    let budget = prepared.budget(UNLIMITED);
    settle_own(prepared, budget)?;
    prepared.deliver_a_few();
    let mut answer = client.allocate(request, budget);
    if answer.as_ref().is_err_and(may_wait_for_a_release) && deliver_all(prepared, budget) > 0 {
        answer = client.allocate(request, budget);
    }
    answer.map_err(|error| refused(prepared, definition, client, error))
}

/// An earlier DEL of this very attachment that waits here comes first: the addresses that the ADD
/// is told must not be freed by it afterwards.
fn settle_own(prepared: &Prepared<'_>, budget: Budget) -> Result<(), CniError> {
    let report = prepared.deliver_own(budget.at_most(budget.left() / 2));
    match report.first_reason() {
        None => Ok(()),
        Some(reason) => Err(CniError::new(
            Code::TryAgainLater,
            format!("a release of this attachment waits on this node and comes first: {reason}"),
        )),
    }
}

fn may_wait_for_a_release(error: &ClientError) -> bool {
    let ClientError::Problem(problem) = error else {
        return false;
    };
    matches!(
        problem.code,
        ProblemCode::Exhausted | ProblemCode::AddressTaken
    )
}

/// Delivers as much of the queue as half of the time allows.
fn deliver_all(prepared: &Prepared<'_>, budget: Budget) -> usize {
    let budget = budget.at_most(budget.left() / 2);
    prepared
        .deliver(Delivery {
            files: 1000,
            budget,
            yielding: false,
        })
        .delivered()
}

fn refused(
    prepared: &Prepared<'_>,
    definition: &Definition,
    client: &Client,
    error: ClientError,
) -> CniError {
    let unknown = error.outcome_unknown();
    let misdirected = matches!(&error, ClientError::Problem(problem) if matches!(
        problem.code,
        ProblemCode::NotFound | ProblemCode::MethodNotAllowed | ProblemCode::UnsupportedMediaType
    ));
    let error = CniError::from(ApiFailure {
        error,
        keys: definition,
    });
    if unknown {
        return undo(prepared, error);
    }
    if misdirected {
        let addresses = client.addresses().join(", ");
        return error.and(format_args!(
            "api: {addresses} is no ipledger API of this version"
        ));
    }
    error
}

/// The addresses of the answer, in the order of the ranges.
fn assigned(definition: &Definition, response: &AllocateResponse) -> Option<Vec<AssignedIp>> {
    if response.addresses.len() != definition.ranges.len() {
        return None;
    }
    let assign = |allocated: &ipledger_client::types::AllocatedAddress| {
        let address = allocated.address.parse().ok()?;
        let gateway = definition.gateway_for(address);
        Some(AssignedIp {
            address,
            prefix_length: allocated.prefix_length,
            gateway,
        })
    };
    response.addresses.iter().map(assign).collect()
}

/// The ledger may have given addresses that nobody will learn of. The runtime owes a DEL; a
/// release of our own makes sure of it. Its token is later than the ADD's and earlier than that
/// of any call that the runtime makes after it heard of the failure.
fn undo(prepared: &Prepared<'_>, error: CniError) -> CniError {
    let token = prepared.session.host.order_token();
    match prepared.queue_release(prepared.release_request(token)) {
        Ok(()) => error.and("a release was queued in case it was applied"),
        Err(failure) => error.and(failure),
    }
}

/// The same where the answer is known: at once if the API is there.
fn give_back(prepared: &Prepared<'_>) {
    let token = prepared.session.host.order_token();
    if let Err(error) = prepared.queue_release(prepared.release_request(token)) {
        prepared.session.log.warn(error);
    }
    prepared.deliver_a_few();
}
