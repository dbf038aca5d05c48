//! One connection of the writer lane, with its notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio_postgres::error::{DbError, Severity};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Socket, Statement};

use super::append::APPEND_SQL;
use super::tls::{self, Target};
use crate::error::{Error, is_connection_loss};

/// A statement may not wait longer: neither for a lock nor for a standby that does not answer.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection may take to come up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Plans must not depend on when ANALYZE last ran: point look-ups are right at every size.
const PLANS: &str = "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; \
    set enable_bitmapscan = off; set enable_hashjoin = off; set enable_mergejoin = off; \
    set jit = off";

/// A connection with the prepared `append`.
pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) append: Statement,
    warned: Arc<AtomicBool>,
}

impl Connection {
    /// Connect as the service's role and prepare.
    pub(super) async fn open(database_url: &str) -> Result<Connection, Error> {
        let opened = tokio::time::timeout(CONNECT_TIMEOUT, Connection::connect(database_url)).await;
        opened.unwrap_or_else(|_| {
            Err(Error::Unavailable {
                reason: format!("no answer within {CONNECT_TIMEOUT:?}"),
            })
        })
    }

    async fn connect(database_url: &str) -> Result<Connection, Error> {
        let Target { mut config, tls } = tls::target(database_url)?;
        config
            .application_name("ipledger lane")
            .connect_timeout(CONNECT_TIMEOUT);
        let warned = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&warned);
        let connected = match tls {
            None => start(&config, NoTls, heard).await,
            Some(tls) => start(&config, tls, heard).await,
        };
        let client = connected.map_err(|error| Error::Unavailable {
            // Whatever the server says: without a connection nothing was asked of it.
            reason: describe(&error),
        })?;
        let timeout_ms = STATEMENT_TIMEOUT.as_millis();
        client
            .batch_execute(&format!(
                "set statement_timeout = {timeout_ms}; set synchronous_commit = on; \
                 set idle_in_transaction_session_timeout = {timeout_ms}; {PLANS}"
            ))
            .await
            .map_err(|e| classify(&e))?;
        let append = client.prepare(APPEND_SQL).await.map_err(|e| classify(&e))?;
        // What was said while connecting (a collation's version, say) concerns no commit.
        warned.store(false, Ordering::Release);
        Ok(Connection {
            client,
            append,
            warned,
        })
    }

    /// Whether the server ever warned. After `append` it means that the commit is here but
    /// perhaps not on the standby (SQLSTATE 01000, or 57P01 when it is terminated). Which of the
    /// calls on their way it meant cannot be told, so it counts for all of them and for whatever
    /// this connection would still carry.
    pub(super) fn has_warned(&self) -> bool {
        self.warned.load(Ordering::Acquire)
    }
}

/// Connect, drive the connection, and hear what the server says beside its answers.
async fn start<T>(
    config: &Config,
    tls: T,
    warned: Arc<AtomicBool>,
) -> Result<Client, tokio_postgres::Error>
where
    T: MakeTlsConnect<Socket>,
    T::Stream: Send + 'static,
{
    let (client, mut driver) = config.connect(tls).await?;
    tokio::spawn(async move {
        let mut messages = stream::poll_fn(move |context| driver.poll_message(context));
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notice(notice)) => note(&notice, &warned),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(error = describe(&error), "lane connection ended");
                    return;
                }
            }
        }
    });
    Ok(client)
}

/// Server messages below a warning say nothing about an outcome.
fn note(notice: &DbError, warned: &AtomicBool) {
    let is_warning = matches!(notice.parsed_severity(), Some(Severity::Warning) | None)
        && notice.severity() != "NOTICE";
    if is_warning {
        warned.store(true, Ordering::Release);
    }
    tracing::warn!(
        severity = notice.severity(),
        sqlstate = notice.code().code(),
        message = notice.message(),
        "notice from the database"
    );
}

/// The driver's error with its causes, since its own text leaves them out.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    use std::error::Error as _;
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}

/// An error of a statement that changes nothing.
pub(super) fn classify(error: &tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(database) if !is_transient(database.code().code()) => Error::Database(describe(error)),
        _ => Error::Unavailable {
            reason: describe(error),
        },
    }
}

/// Whether the connection is gone, so that the outcome of a sent statement is not known.
pub(super) fn is_lost(error: &tokio_postgres::Error) -> bool {
    error
        .as_db_error()
        .is_none_or(|database| is_connection_loss(database.code().code()))
}

/// Whether the same statement may succeed later: the connection, a cancelled or timed-out wait
/// (57014, 55P03), a deadlock or a serialization failure (40…).
fn is_transient(code: &str) -> bool {
    is_connection_loss(code) || code == "57014" || code == "55P03" || code.starts_with("40")
}
