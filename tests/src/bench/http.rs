//! A closed loop of HTTP clients, each on a connection of its own. Raw bytes in and out, so that
//! the generator takes as little of the two cores as it can.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hdrhistogram::Histogram;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use super::Figures;

/// What the clients do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Allocate, again and again.
    Allocate,
    /// Allocate and release what was allocated; both count.
    AllocateAndRelease,
}

/// Where the addresses come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// How many pools.
    pub pools: u32,
    /// How many spaces they are spread over: 1, or as many as pools.
    pub spaces: u32,
}

/// Where a server listens.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// Its unix socket: pgbench speaks to PostgreSQL over one as well.
    Unix(PathBuf),
    /// Loopback TCP.
    Tcp(SocketAddr),
}

/// One measurement.
#[derive(Debug, Clone)]
pub struct Load {
    /// The servers; clients are spread over them.
    pub servers: Vec<Endpoint>,
    /// How many clients.
    pub clients: u32,
    /// What they do.
    pub work: Work,
    /// Where the addresses come from.
    pub layout: Layout,
    /// For how long; the first fifth is not counted.
    pub time: Duration,
    /// Or until so many requests per client.
    pub requests: Option<u64>,
}

/// Run it. Every answer must be a success.
pub async fn run(load: &Load) -> Result<Figures> {
    let started = Instant::now();
    let warm = started + load.time / 5;
    let end = started + load.time;
    let run = run_id();
    let mut tasks = Vec::new();
    for client in 0..load.clients {
        let server = load.servers[client as usize % load.servers.len()].clone();
        let (load, run) = (load.clone(), run.clone());
        tasks.push(tokio::spawn(async move {
            let connection = Connection::open(&server).await?;
            serve_one(connection, &load, &run, client, warm, end).await
        }));
    }
    let mut all = Histogram::<u64>::new(3)?;
    for task in tasks {
        all.add(task.await??)?;
    }
    Ok(Figures::of(&all, started.elapsed().as_secs_f64() * 0.8))
}

async fn serve_one(
    mut connection: Connection,
    load: &Load,
    run: &str,
    client: u32,
    warm: Instant,
    end: Instant,
) -> Result<Histogram<u64>> {
    let mut histogram = Histogram::new(3)?;
    let mut body = String::with_capacity(1024);
    let mut number = 0u64;
    while Instant::now() < end && load.requests.is_none_or(|most| number < most) {
        number += 1;
        allocate_body(&mut body, load.layout, run, client, number);
        let begun = Instant::now();
        connection.post("/v1/allocate", &body).await?;
        record(&mut histogram, begun, warm)?;
        if load.work == Work::AllocateAndRelease {
            release_body(&mut body, run, client, number);
            let begun = Instant::now();
            connection.post("/v1/release", &body).await?;
            record(&mut histogram, begun, warm)?;
        }
    }
    Ok(histogram)
}

fn record(histogram: &mut Histogram<u64>, begun: Instant, warm: Instant) -> Result<()> {
    if begun >= warm {
        let us = u64::try_from(begun.elapsed().as_micros())?;
        histogram.record(us.max(1))?;
    }
    Ok(())
}

/// A run's ids differ from every other run's.
fn run_id() -> String {
    let nanos = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |elapsed| elapsed.as_nanos());
    format!("{nanos:024x}")
}

fn attachment(body: &mut String, run: &str, client: u32, number: u64) {
    body.clear();
    let _ = write!(
        body,
        "{{\"attachment\":{{\"cluster\":\"bench\",\"network\":\"super-net\",\"container_id\":\
         \"{run}{client:016x}{number:024x}\",\"ifname\":\"net1\"}},\"owner\":{{\"namespace\":\
         \"default\",\"name\":\"pod-{client}-{number}\",\"uid\":\"{}-{client:04x}-{number:012x}\",\
         \"node\":\"node-{}\"}},\"token\":{{\"boot_id\":\"0190b3a0-1111-7777-8888-9b9b9b9b9b9b\",\
         \"boottime_ns\":{number}}}",
        &run[8..],
        client % 16
    );
}

fn allocate_body(body: &mut String, layout: Layout, run: &str, client: u32, number: u64) {
    attachment(body, run, client, number);
    let pool = (u64::from(client) * 7919 + number) % u64::from(layout.pools);
    if layout.spaces > 1 {
        let _ = write!(body, ",\"network_name\":\"net-{pool}\"");
    }
    // 64 pools of a quarter million addresses each, or one of sixteen million.
    let (second, length) = if layout.pools == 1 {
        (0, 8)
    } else {
        (pool * 4, 14)
    };
    let _ = write!(
        body,
        ",\"ranges\":[{{\"range\":\"10.{second}.0.0/{length}\"}}]}}"
    );
}

fn release_body(body: &mut String, run: &str, client: u32, number: u64) {
    attachment(body, run, client, number);
    body.push('}');
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

struct Connection {
    stream: Box<dyn Stream>,
    request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    async fn open(server: &Endpoint) -> Result<Connection> {
        let stream: Box<dyn Stream> = match server {
            Endpoint::Unix(path) => Box::new(UnixStream::connect(path).await?),
            Endpoint::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        Ok(Connection {
            stream,
            request: Vec::with_capacity(2048),
            answer: Vec::with_capacity(4096),
        })
    }

    /// One request, one answer; anything but 200 is an error with its body.
    async fn post(&mut self, path: &str, body: &str) -> Result<()> {
        use std::io::Write as _;
        self.request.clear();
        write!(
            self.request,
            "POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        self.stream.write_all(&self.request).await?;
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await?;
            ensure!(read > 0, "the server closed the connection");
            let Some(head) = find(&self.answer, b"\r\n\r\n") else {
                continue;
            };
            let length = content_length(&self.answer[..head])?;
            if self.answer.len() >= head + 4 + length {
                break;
            }
        }
        if !self.answer.starts_with(b"HTTP/1.1 200") {
            bail!("{path}: {}", String::from_utf8_lossy(&self.answer));
        }
        Ok(())
    }
}

fn content_length(head: &[u8]) -> Result<usize> {
    let lower = head.to_ascii_lowercase();
    let at = find(&lower, b"content-length:").context("no content-length")?;
    let rest = std::str::from_utf8(&lower[at + 15..])?;
    Ok(rest.lines().next().unwrap_or_default().trim().parse()?)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
