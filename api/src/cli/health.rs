//! A service asked from the outside, by a program that an image without a shell has anyway.

use std::time::Duration;

use anyhow::Context as _;
use ipledger_client::blocking::{ApiAddress, Budget, Client};

use crate::listen::ListenAddress;

/// For all addresses together; shorter than what a health check usually waits.
const PATIENCE: Duration = Duration::from_secs(2);

/// Success if the service answers that it is ready, on every address.
pub(super) fn ask(addresses: &[ListenAddress]) -> anyhow::Result<()> {
    let budget = Budget::within(PATIENCE).one_round();
    for address in addresses {
        let asked = match address {
            ListenAddress::Tcp(socket) => ApiAddress::Tcp(*socket),
            ListenAddress::Unix(path) => ApiAddress::Unix(path.clone()),
        };
        Client::new(&[asked], None, "ipledger-api health")
            .and_then(|client| client.ready(budget))
            .with_context(|| format!("the service at {address} is not ready"))?;
    }
    Ok(())
}
