//! `make bench`: speed as ratios, in one run on one PostgreSQL.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use e2e::bench::http::{self, Endpoint, Layout, Load, Work};
use e2e::bench::report::{self, Goal, Ratio, Row};
use e2e::bench::server::Server;
use e2e::bench::{Figures, corners, pgbench, plugin};
use embedded_postgres::{Binaries, Cluster, Settings};

const ONE_POOL: Layout = Layout {
    pools: 1,
    spaces: 1,
};
const POOLS: Layout = Layout {
    pools: 64,
    spaces: 1,
};
const SPACES: Layout = Layout {
    pools: 64,
    spaces: 64,
};

/// Measures ipledger against pgbench and /bin/true.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where `ipledger` and `ipledger-api` are.
    #[arg(long, value_name = "DIR")]
    binaries: PathBuf,
    /// Shorter, for a look; writes nothing.
    #[arg(long)]
    quick: bool,
    /// Only the rates at these client counts, for a look; writes nothing.
    #[arg(long, value_delimiter = ',', value_name = "COUNT")]
    clients: Vec<u32>,
    /// Only what definitions cost, for a look; writes nothing.
    #[arg(long)]
    corners: bool,
    /// Print the resident memory of one ADD against this API and end.
    #[arg(long, value_name = "API", hide = true)]
    resident: Option<String>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(api) = &arguments.resident {
        let mib = plugin::resident_mib(&arguments.binaries.join("ipledger"), api)?;
        return say(&format!("{mib:.1}"));
    }
    let bench = Bench::start(arguments).await?;
    let rows = bench.measure().await;
    let facts = bench.facts()?;
    bench.cluster.stop().await?;
    let rows = rows?;
    say(&format!("\n{facts}\n\n{}", report::screen(&rows)))?;
    if !bench.quick && !bench.only_corners && bench.clients.is_empty() {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/performance.md");
        report::write(&document, &facts, &rows)?;
        say("\nwrote the table of docs/performance.md")?;
    }
    Ok(())
}

struct Bench {
    binaries: PathBuf,
    postgres: Binaries,
    cluster: Cluster,
    directory: tempfile::TempDir,
    quick: bool,
    clients: Vec<u32>,
    only_corners: bool,
}

impl Bench {
    async fn start(arguments: Arguments) -> Result<Bench> {
        let postgres = Binaries::find(None)?;
        let directory = tempfile::tempdir()?;
        let mut settings = Settings::durable(directory.path());
        settings.extra = [("max_connections", "300"), ("shared_buffers", "512MB")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        let cluster = Cluster::start(&postgres, settings).await?;
        Ok(Bench {
            binaries: arguments.binaries,
            postgres,
            cluster,
            directory,
            quick: arguments.quick,
            clients: arguments.clients,
            only_corners: arguments.corners,
        })
    }

    fn facts(&self) -> Result<String> {
        let probe = pgbench::fdatasync_us(&self.postgres, self.directory.path())?;
        let cores = std::thread::available_parallelism()?;
        Ok(format!(
            "PostgreSQL {}, {cores} cores shared by server, service and clients; one fdatasync of \
             8 kB: {probe:.0} µs. Command: `make bench`.",
            self.postgres.version()
        ))
    }

    fn seconds(&self) -> u32 {
        if self.quick { 3 } else { 6 }
    }

    async fn measure(&self) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        if self.only_corners {
            self.corners(&mut rows).await?;
            return Ok(rows);
        }
        if !self.clients.is_empty() {
            let at_64 = self.rates(&mut rows, &self.clients).await?;
            self.over_tcp(&mut rows, at_64).await?;
            return Ok(rows);
        }
        let at_64 = self.rates(&mut rows, &[64, 1, 16, 256]).await?;
        self.over_tcp(&mut rows, at_64).await?;
        self.replicas(&mut rows, at_64).await?;
        self.processes(&mut rows).await?;
        self.held(&mut rows).await?;
        self.corners(&mut rows).await?;
        Ok(rows)
    }

    /// What a definition costs to read, and the search for a free address where it is hardest.
    async fn corners(&self, rows: &mut Vec<Row>) -> Result<()> {
        let rounds = if self.quick { 200 } else { 1_000 };
        let got = corners::reading(rounds)?;
        let goal = Some(Goal::AtMost(1.0));
        let ratios = vec![ratio(got.p50_ms / 0.1, "100 µs".to_owned(), goal)];
        add(rows, "definition read and resolved".into(), got, ratios)?;
        let database = self.database("corners").await?;
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        for (what, window, first) in corners::windows() {
            // The first request compiles statements and warms the connection.
            corners::search(&server.unix(), &window, first, 1)?;
            let (before, earlier) = corners::spent_on_allocates(server.tcp())?;
            let got = corners::search(&server.unix(), &window, first, rounds)?;
            let (after, later) = corners::spent_on_allocates(server.tcp())?;
            let mean_ms = (after - before) * 1000.0 / (later - earlier);
            let text = "1 ms on the server's side, on average";
            let ratios = vec![ratio(mean_ms, text.to_owned(), Some(Goal::AtMost(1.0)))];
            let what = format!("first free address {what}, over HTTP");
            add(rows, what, got, ratios)?;
        }
        Ok(())
    }

    /// HTTP beside pgbench, client count by client count. Gives the rate over 64 pools at 64.
    async fn rates(&self, rows: &mut Vec<Row>, counts: &[u32]) -> Result<Figures> {
        let mut pgbench_at_64 = None;
        let mut pools_at_64 = None;
        for &clients in counts {
            let base = self.pgbench(clients).await?;
            let base_64 = *pgbench_at_64.get_or_insert(base);
            add(
                rows,
                format!("pgbench single-row insert, {clients} clients"),
                base,
                Vec::new(),
            )?;
            for (layout, name) in [
                (POOLS, "64 pools"),
                (ONE_POOL, "1 pool"),
                (SPACES, "64 spaces"),
            ] {
                let got = self.http(clients, layout, Work::Allocate).await?;
                let goals = goals(clients, layout, got, base, base_64, pools_at_64);
                add(
                    rows,
                    format!("allocate, {name}, {clients} clients"),
                    got,
                    goals,
                )?;
                if clients == 64 && layout == POOLS {
                    pools_at_64 = Some(got);
                }
            }
            for (layout, name) in [
                (POOLS, "64 pools"),
                (ONE_POOL, "1 pool"),
                (SPACES, "64 spaces"),
            ] {
                let got = self.http(clients, layout, Work::AllocateAndRelease).await?;
                let ratio = ratio(got.rate / base.rate, format!("pgbench at {clients}"), None);
                let what = format!("allocate + release, {name}, {clients} clients");
                add(rows, what, got, vec![ratio])?;
            }
        }
        Ok(pools_at_64.unwrap_or_default())
    }

    /// The same over loopback TCP: what the transport costs.
    async fn over_tcp(&self, rows: &mut Vec<Row>, unix: Figures) -> Result<()> {
        let database = self.database("tcp").await?;
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        let got = http::run(&Load {
            servers: vec![Endpoint::Tcp(server.tcp())],
            ..self.load(64, POOLS, Work::Allocate)
        })
        .await?;
        let ratios = vec![ratio(got.rate / unix.rate, "unix socket".to_owned(), None)];
        let what = "allocate, 64 pools, 64 clients, TCP".to_owned();
        add(rows, what, got, ratios)
    }

    /// Two replicas side by side on the same spaces.
    async fn replicas(&self, rows: &mut Vec<Row>, one: Figures) -> Result<()> {
        let database = self.database("replicas").await?;
        let first = Server::start(&self.api(), &self.cluster, &database)?;
        let second = Server::start(&self.api(), &self.cluster, &database)?;
        let got = http::run(&Load {
            servers: vec![first.socket(), second.socket()],
            ..self.load(64, POOLS, Work::Allocate)
        })
        .await?;
        let goal = Some(Goal::AtLeast(0.5));
        let ratios = vec![ratio(
            got.rate / one.rate,
            "one replica at 64".to_owned(),
            goal,
        )];
        add(
            rows,
            "allocate, 64 pools, 2 replicas with 32 clients each".to_owned(),
            got,
            ratios,
        )
    }

    /// One ADD as a process.
    async fn processes(&self, rows: &mut Vec<Row>) -> Result<()> {
        let database = self.database("processes").await?;
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        let rounds = if self.quick { 100 } else { 400 };
        let own = self.binaries.join("ipledger");
        let tcp = format!("http://{}", server.tcp());
        let series = [(server.unix(), "unix socket", 2.2), (tcp, "TCP", 2.5)];
        for (first_round, (api, name, bound)) in (0..).step_by(10_000).zip(series) {
            let pair = plugin::run(&own, &api, first_round, rounds)?;
            let goal = Some(Goal::AtMost(bound));
            let ratios = vec![ratio(
                pair.add.p50_ms / pair.bare.p50_ms,
                "/bin/true".into(),
                goal,
            )];
            let (mut add_figures, mut bare) = (pair.add, pair.bare);
            (add_figures.rate, bare.rate) = (0.0, 0.0);
            add(
                rows,
                format!("/bin/true, fork and exec, beside {name}"),
                bare,
                Vec::new(),
            )?;
            add(
                rows,
                format!("ADD, fork, exec and durable, {name}"),
                add_figures,
                ratios,
            )?;
        }
        let size = std::fs::metadata(&own)?.len();
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let mib = size as f64 / 1024.0 / 1024.0;
        let resident = self.resident(&server.unix())?;
        say(&format!(
            "plugin binary: {mib:.2} MiB (goal ≤ 3), resident {resident} MiB (goal ≤ 8)"
        ))
    }

    fn resident(&self, api: &str) -> Result<String> {
        let output = std::process::Command::new(std::env::current_exe()?)
            .arg("--binaries")
            .arg(&self.binaries)
            .args(["--resident", api])
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// A single client with few and with a million addresses held.
    async fn held(&self, rows: &mut Vec<Row>) -> Result<()> {
        let many: u64 = if self.quick { 100_000 } else { 1_000_000 };
        let database = self.database("held").await?;
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        self.fill(&server, 1_000).await?;
        let few = self.single(&server).await?;
        add(
            rows,
            "allocate, 1 client, 1,000 held".to_owned(),
            few,
            Vec::new(),
        )?;
        self.fill(&server, many).await?;
        let got = self.single(&server).await?;
        let goal = Some(Goal::AtMost(1.15));
        let ratios = vec![ratio(
            got.p50_ms / few.p50_ms,
            "p50 with 1,000 held".into(),
            goal,
        )];
        add(
            rows,
            format!("allocate, 1 client, {many} held"),
            got,
            ratios,
        )?;
        let grown = server.resident_mib()?;
        drop(server);
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        let loaded = server.resident_mib()?;
        say(&format!(
            "resident memory of ipledger-api with {many} held: {grown:.0} MiB, after a restart \
             {loaded:.0} MiB (goal ≤ 256)"
        ))
    }

    async fn fill(&self, server: &Server, addresses: u64) -> Result<()> {
        let clients = 100;
        let load = Load {
            servers: vec![server.socket()],
            time: Duration::from_secs(600),
            requests: Some(addresses / u64::from(clients)),
            ..self.load(clients, POOLS, Work::Allocate)
        };
        http::run(&load).await?;
        Ok(())
    }

    async fn single(&self, server: &Server) -> Result<Figures> {
        let load = Load {
            servers: vec![server.socket()],
            ..self.load(1, POOLS, Work::Allocate)
        };
        http::run(&load).await
    }

    async fn http(&self, clients: u32, layout: Layout, work: Work) -> Result<Figures> {
        let database = self.database("http").await?;
        let server = Server::start(&self.api(), &self.cluster, &database)?;
        http::run(&Load {
            servers: vec![server.socket()],
            ..self.load(clients, layout, work)
        })
        .await
    }

    fn load(&self, clients: u32, layout: Layout, work: Work) -> Load {
        Load {
            servers: Vec::new(),
            clients,
            work,
            layout,
            time: Duration::from_secs(self.seconds().into()),
            requests: None,
        }
    }

    async fn pgbench(&self, clients: u32) -> Result<Figures> {
        let database = self.empty("yardstick").await?;
        pgbench::prepare(&self.cluster.url(&database)).await?;
        let socket = self.cluster.socket_dir().to_owned();
        pgbench::run(&self.postgres, &socket, &database, clients, self.seconds())
    }

    /// A migrated database of its own for each measurement.
    async fn database(&self, purpose: &str) -> Result<String> {
        let database = self.empty(purpose).await?;
        ledger::migrate(&self.cluster.url(&database)).await?;
        Ok(database)
    }

    async fn empty(&self, purpose: &str) -> Result<String> {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("{purpose}_{number}");
        let url = self.cluster.url("postgres");
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await?;
        let driver = tokio::spawn(connection);
        client
            .batch_execute(&format!("create database {name}"))
            .await?;
        // What the last measurement left behind is not this one's cost.
        client.batch_execute("checkpoint").await?;
        drop(client);
        driver.await??;
        Ok(name)
    }

    fn api(&self) -> PathBuf {
        self.binaries.join("ipledger-api")
    }
}

fn goals(
    clients: u32,
    layout: Layout,
    got: Figures,
    base: Figures,
    base_64: Figures,
    pools_at_64: Option<Figures>,
) -> Vec<Ratio> {
    let rate_goal = match (clients, layout) {
        (64, POOLS) => Some(Goal::AtLeast(0.8)),
        (64, SPACES) => Some(Goal::AtLeast(0.6)),
        (1, _) => Some(Goal::AtLeast(0.3)),
        _ => None,
    };
    let mut ratios = vec![ratio(
        got.rate / base.rate,
        format!("pgbench at {clients}"),
        rate_goal,
    )];
    if clients == 64 && layout == POOLS {
        let goal = Some(Goal::AtMost(1.2));
        ratios.push(ratio(
            got.p99_ms / base.p99_ms,
            "pgbench's p99".to_owned(),
            goal,
        ));
    }
    if clients == 256 && layout == POOLS {
        let goal = Some(Goal::AtLeast(1.0));
        ratios.push(ratio(
            got.rate / base_64.rate,
            "pgbench at 64".to_owned(),
            goal,
        ));
    }
    if let Some(pools) = pools_at_64.filter(|_| clients == 64 && layout == ONE_POOL) {
        let goal = Some(Goal::AtLeast(1.0));
        ratios.push(ratio(got.rate / pools.rate, "64 pools".to_owned(), goal));
    }
    ratios
}

fn ratio(value: f64, to: String, goal: Option<Goal>) -> Ratio {
    Ratio { value, to, goal }
}

fn add(rows: &mut Vec<Row>, what: String, figures: Figures, ratios: Vec<Ratio>) -> Result<()> {
    let row = Row {
        what,
        figures,
        ratios,
    };
    say(report::screen(std::slice::from_ref(&row))
        .lines()
        .nth(1)
        .unwrap_or_default())?;
    rows.push(row);
    Ok(())
}

fn say(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}").context("stdout")
}
