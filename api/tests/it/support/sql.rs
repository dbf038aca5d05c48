//! A raw connection, to get in the server's way and to look behind its back.

use tokio_postgres::{Client, NoTls};

/// Clients of this database, other than the one that asks.
const OTHERS: &str = "from pg_stat_activity where datname = current_database() \
                      and pid <> pg_backend_pid()";

pub(crate) struct Sql(Client);

impl Sql {
    pub(crate) async fn connect(url: &str) -> Sql {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        Sql(client)
    }

    pub(crate) async fn run(&self, statements: &str) {
        self.0.batch_execute(statements).await.unwrap();
    }

    pub(crate) async fn number(&self, query: &str) -> i64 {
        self.0.query_one(query, &[]).await.unwrap().get(0)
    }

    /// Holds what every append to a space that exists needs, until [`Sql::let_go`]. Reads go on.
    pub(crate) async fn block_appends(&self) {
        self.run("begin; select from ipledger.spaces for update")
            .await;
    }

    pub(crate) async fn let_go(&self) {
        self.run("rollback").await;
    }

    /// Waits until an append, or whatever else is sent, waits for a lock.
    pub(crate) async fn append_waits(&self) {
        let query = format!("select count(*) {OTHERS} and wait_event_type = 'Lock'");
        super::wait_until("an append waits", async || self.number(&query).await > 0).await;
    }

    /// Ends all other connections to a database.
    pub(crate) async fn cut(&self, database: &str) {
        let others = format!("where datname = '{database}' and pid <> pg_backend_pid()");
        let statement = "select pg_terminate_backend(pid) from pg_stat_activity";
        self.run(&format!("{statement} {others}")).await;
    }
}
