//! A few statements as the superuser, from a plain thread.

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::Error;

/// Longest wait for a connection. The server is on this machine.
const CONNECT_BOUND: Duration = Duration::from_secs(10);

/// Runs the statements one after another, each in its own transaction.
///
/// Must not be called on a thread that drives a tokio runtime.
pub(crate) fn execute(url: &str, action: &str, statements: &[String]) -> Result<(), Error> {
    with_client(url, action, async |client| {
        for statement in statements {
            client.simple_query(statement).await?;
        }
        Ok(())
    })
}

/// The first column of every row.
///
/// Must not be called on a thread that drives a tokio runtime.
pub(crate) fn first_column(url: &str, action: &str, query: &str) -> Result<Vec<String>, Error> {
    with_client(url, action, async |client| {
        let messages = client.simple_query(query).await?;
        Ok(messages
            .iter()
            .filter_map(|message| match message {
                SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
                _ => None,
            })
            .collect())
    })
}

fn with_client<T>(
    url: &str,
    action: &str,
    work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
) -> Result<T, Error> {
    let failed = |message: String| Error::Database {
        action: action.to_owned(),
        message,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::io("make a runtime for", Path::new("PostgreSQL")))?;
    runtime.block_on(async {
        let (client, connection) = bounded(tokio_postgres::connect(url, NoTls))
            .await
            .ok_or_else(|| failed("no answer to the connection".to_owned()))?
            .map_err(|error| failed(describe(&error)))?;
        let connection = tokio::spawn(connection);
        let result = work(&client)
            .await
            .map_err(|error| failed(describe(&error)));
        drop(client);
        // With the client gone the connection says goodbye and ends; a broken one has
        // already shown in the result.
        let _ = bounded(connection).await;
        result
    })
}

async fn bounded<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(CONNECT_BOUND, work).await.ok()
}

/// The driver's own text is only "db error"; the server's words are what helps.
fn describe(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(db) => format!("{} (SQLSTATE {})", db.message(), db.code().code()),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}
