//! The way to the API.

use std::time::Duration;

use ipledger_client::asynchronous::Client;
use ipledger_client::{ApiAddress, Budget};

use crate::arguments::Shared;
use crate::error::Error;

/// A client, and how long it may take.
pub(crate) struct Api {
    pub(crate) client: Client,
    time: Duration,
}

impl Api {
    pub(crate) fn open(shared: &Shared) -> Result<Api, Error> {
        let addresses: Result<Vec<ApiAddress>, Error> = shared
            .api_url
            .split(',')
            .map(|text| {
                let address = text.trim().parse();
                address.map_err(|error: ipledger_client::ApiAddressError| {
                    Error::usage("--api-url", text, &error.to_string())
                })
            })
            .collect();
        let token = match &shared.token_file {
            None => None,
            Some(path) => Some(std::fs::read_to_string(path).map_err(|error| {
                let problem = format!("cannot be read: {error}");
                Error::usage("--token-file", &path.display().to_string(), &problem)
            })?),
        };
        let client = Client::new(&addresses?, token.as_deref().map(str::trim), &actor())?;
        Ok(Api {
            client,
            time: Duration::from_secs(shared.timeout),
        })
    }

    pub(crate) fn budget(&self) -> Budget {
        Budget::within(self.time)
    }
}

/// What the ledger records as the actor: the program and its user.
fn actor() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let user: String = std::env::var("USER")
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_graphic)
        .take(64)
        .collect();
    match user.is_empty() {
        true => format!("ipledgerctl/{version}"),
        false => format!("ipledgerctl/{version}:{user}"),
    }
}
