//! One empty database, and the roles named after it.

use std::thread;
use std::time::Duration;

use super::server;
use crate::cluster::on_thread;
use crate::password::quote;
use crate::{Error, admin, random, url};

/// Time for one of the server's steps; many tests may ask at once.
const BOUND: Duration = Duration::from_secs(60);

/// An empty database under a random name. When it is dropped, the database goes, with every
/// connection to it, and every role whose name begins with the database's name and `_`.
#[derive(Debug)]
pub struct TestDatabase {
    server: String,
    name: String,
}

impl TestDatabase {
    /// Makes a database; the first call of a run may start the server.
    ///
    /// # Panics
    /// If that fails, with the reason: a test cannot go on without it.
    pub async fn create() -> Self {
        match Self::try_create().await {
            Ok(database) => database,
            Err(error) => panic!("no database for this test: {error}"),
        }
    }

    /// [`TestDatabase::create`] with the error as a value.
    ///
    /// # Errors
    /// No server could be found or started, or it refused.
    pub async fn try_create() -> Result<Self, Error> {
        on_thread(|| {
            let server = server::url()?;
            let name = format!("t_{}", random::text(10)?);
            let statement = format!("CREATE DATABASE {}", quote(&name));
            admin::execute(&server, "create a test database", BOUND, &[statement])?;
            Ok(Self { server, name })
        })
        .await
    }

    /// The name of the database.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its URL as the superuser.
    #[must_use]
    pub fn url(&self) -> String {
        self.replace(None)
    }

    /// Its URL as another role. On a server that this crate started no password is needed.
    #[must_use]
    pub fn url_as(&self, role: &str) -> String {
        self.replace(Some(role))
    }

    fn replace(&self, user: Option<&str>) -> String {
        url::replace(&self.server, user, &self.name).expect("the server's URL was read before")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // A test drops it inside its runtime, where nothing may block on another one.
        let result = thread::spawn(move || remove(&server, &name)).join();
        match result {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(database = self.name, %error, "not dropped"),
            Err(_) => tracing::warn!(database = self.name, "not dropped"),
        }
    }
}

fn remove(server: &str, name: &str) -> Result<(), Error> {
    let action = "drop a test database";
    let database = format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", quote(name));
    admin::execute(server, action, BOUND, &[database])?;
    // The name consists of letters, digits and `_`.
    let query = format!("SELECT rolname FROM pg_roles WHERE starts_with(rolname, '{name}_')");
    let roles: Vec<String> = admin::first_column(server, action, BOUND, &query)?
        .iter()
        .map(|role| quote(role))
        .collect();
    if roles.is_empty() {
        return Ok(());
    }
    // In one statement the order of memberships among them does not matter.
    admin::execute(
        server,
        action,
        BOUND,
        &[format!("DROP ROLE {}", roles.join(", "))],
    )
}
