//! A service with a past, and runs of the program against it.

use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use embedded_postgres::testing::TestDatabase;
use ipledger_api::serve::{self, Outside};
use ipledger_api::{ListenAddress, Listener, ServeConfig, SystemIds};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ledger::testing::{Holder, Recorder};
use ledger::{Clock as _, Ledger, StoreConfig, SystemClock};
use tokio::process::Command;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What a run ended with.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A service; it stops when dropped.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) ledger: Ledger,
    _database: TestDatabase,
    _stop: DropGuard,
}

impl Service {
    /// With the past that docs/questions.md speaks of, counted back from now.
    pub(crate) async fn with_past() -> Service {
        let database = TestDatabase::create().await;
        ledger::migrate(&database.url()).await.expect("migrations");
        let (client, connection) = tokio_postgres::connect(&database.url(), tokio_postgres::NoTls)
            .await
            .expect("connect");
        tokio::spawn(connection);
        past().write(&client).await.expect("a past");
        Service::on(database).await
    }

    async fn on(database: TestDatabase) -> Service {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let Ok(ListenAddress::Tcp(address)) = listener.address() else {
            panic!("a TCP listener has a TCP address");
        };
        let url = database.url_as(&format!("{}_app", database.name()));
        let ledger = Ledger::open(&StoreConfig::new(&url), Arc::new(SystemClock))
            .await
            .expect("a ledger");
        let outside = Outside {
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        };
        let stop = CancellationToken::new();
        let shutdown = stop.clone().cancelled_owned();
        tokio::spawn(serve::run(
            ServeConfig::default(),
            vec![listener],
            ledger.clone(),
            outside,
            shutdown,
        ));
        Service {
            address,
            ledger,
            _database: database,
            _stop: stop.drop_guard(),
        }
    }

    /// The program with these arguments, and no environment but what it needs.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command(&format!("http://{}", self.address), arguments)
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        run(self.command(arguments)).await
    }

    /// A run that must have an answer; its standard output.
    pub(crate) async fn told(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments).await;
        assert_eq!(ran.code, 0, "{arguments:?}: {ran:?}");
        ran.stdout
    }
}

pub(crate) fn command(url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipledgerctl"));
    command
        .args(arguments)
        .env_clear()
        .env("IPLEDGER_API_URL", url)
        .env("USER", "jane")
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

pub(crate) async fn run(mut command: Command) -> Ran {
    let output = command.output().await.expect("it runs");
    Ran {
        code: output.status.code().expect("it ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A command line as a shell splits it: words, and words in single quotes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.trim().chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("never empty").push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Hours ago, from now.
pub(crate) fn hours_ago(hours: i64) -> Timestamp {
    SystemClock.now() - jiff::SignedDuration::from_hours(hours)
}

/// `web-0` of a StatefulSet lived on node-7 with 10.10.3.1 until its node went; `db-0` had the
/// address for a while; the reborn `web-0` has it now. `worker-3` on node-1 holds 10.10.3.2.
fn past() -> Recorder {
    let window = address::Window::parse(&address::WindowText {
        range: "10.10.3.0/24",
        range_start: None,
        range_end: None,
        exclude: &[],
    })
    .expect("a window");
    let address = |last: u8| std::net::IpAddr::from([10, 10, 3, last]);
    let mut past = Recorder::new("prod", window);
    past.allocate(
        last_tuesday_morning(),
        address(1),
        Holder::new("web-0", "uid-1", "node-7", "c1"),
    );
    past.allocate(
        hours_ago(5),
        address(2),
        Holder::new("worker-3", "uid-w", "node-1", "c9"),
    );
    past.release_by(hours_ago(3), address(1), "ipledger-sync", "pod gone");
    let between = Holder::new("db-0", "uid-d", "node-2", "c2");
    past.allocate(
        hours_ago(2) - jiff::SignedDuration::from_mins(30),
        address(1),
        between,
    );
    past.release(hours_ago(1), address(1));
    let reborn = Holder::new("web-0", "uid-2", "node-8", "c3");
    past.allocate(
        hours_ago(1) + jiff::SignedDuration::from_mins(1),
        address(1),
        reborn,
    );
    past
}

/// Seven o'clock in the morning, UTC, of the last Tuesday before today.
fn last_tuesday_morning() -> Timestamp {
    let today = SystemClock.now().to_zoned_datetime(TimeZone::UTC).date();
    let tuesday = today
        .nth_weekday(-1, jiff::civil::Weekday::Tuesday)
        .unwrap();
    let morning = tuesday.at(7, 0, 0, 0).to_zoned_datetime(TimeZone::UTC);
    morning.unwrap().timestamp()
}
