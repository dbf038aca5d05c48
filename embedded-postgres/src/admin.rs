//! A few statements as the superuser, from a plain thread.

use std::path::Path;
use std::time::Duration;

use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::Error;

/// Runs the statements one after another, each in its own transaction, all within `bound`.
///
/// Must not be called on a thread that drives a tokio runtime.
pub(crate) fn execute(
    url: &str,
    action: &str,
    bound: Duration,
    statements: &[String],
) -> Result<(), Error> {
    with_client(url, action, bound, async |client| {
        for statement in statements {
            client.simple_query(statement).await?;
        }
        Ok(())
    })
}

/// The first column of every row.
///
/// Must not be called on a thread that drives a tokio runtime.
pub(crate) fn first_column(
    url: &str,
    action: &str,
    bound: Duration,
    query: &str,
) -> Result<Vec<String>, Error> {
    with_client(url, action, bound, async |client| {
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
    bound: Duration,
    work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::io("make a runtime for", Path::new("PostgreSQL")))?;
    let attempt = async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let result = work(&client).await;
        drop(client);
        // Without the client the connection says goodbye and ends; had it broken before, the
        // result says so.
        let _ = connection.await;
        result
    };
    match runtime.block_on(async { tokio::time::timeout(bound, attempt).await }) {
        Ok(result) => result.map_err(|error| refused(action, &error)),
        Err(_) => Err(Error::Database {
            action: action.to_owned(),
            message: format!("no answer within {} s", bound.as_secs()),
            sqlstate: None,
        }),
    }
}

/// The driver's own text is only "db error"; the server's words are what helps.
fn refused(action: &str, error: &tokio_postgres::Error) -> Error {
    let message = match error.as_db_error() {
        Some(db) => db.message().to_owned(),
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    };
    let sqlstate = error.code().map(|code| code.code().to_owned());
    Error::Database {
        action: action.to_owned(),
        message,
        sqlstate,
    }
}
