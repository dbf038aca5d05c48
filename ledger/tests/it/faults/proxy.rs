//! A proxy before PostgreSQL that reads what clients send, message by message, and can hold or
//! cut a connection between any two of them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

/// Codes of the untyped messages before a session begins.
const SSL_REQUEST: i32 = 80_877_103;
const GSS_REQUEST: i32 = 80_877_104;

/// What happens to the next `append` of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Everything passes.
    Pass,
    /// After so many messages of an `append` nothing passes any more, in neither direction, and
    /// the connection stays open: a client that is stopped, or whose network is gone.
    HoldAfter(usize),
    /// After so many messages of an `append` both sides are closed.
    CutAfter(usize),
}

/// A running proxy; it ends when this is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    server: Server,
    mode: watch::Sender<Mode>,
    /// Messages of the `append` that triggered, as they were seen: their type bytes.
    held: watch::Sender<Option<String>>,
    connections: Mutex<Vec<tokio::task::AbortHandle>>,
}

#[derive(Clone)]
enum Server {
    Unix(PathBuf),
    Tcp(String),
}

trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

impl Proxy {
    /// Before the server of this URL.
    pub(crate) async fn start(url: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let shared = Arc::new(Shared {
            server: server_of(url),
            mode: watch::Sender::new(Mode::Pass),
            held: watch::Sender::new(None),
            connections: Mutex::default(),
        });
        let address = listener.local_addr().expect("an address");
        let accepting = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let session = tokio::spawn(serve(Arc::clone(&accepting), client));
                let mut all = accepting.connections.lock().expect("not poisoned");
                all.push(session.abort_handle());
            }
        });
        Proxy {
            address,
            shared,
            task,
        }
    }

    /// The same URL through the proxy.
    pub(crate) fn url(&self, url: &str) -> String {
        let (scheme, rest) = url.split_once("://").expect("a URL");
        let (authority, path) = rest.split_once('/').expect("a database");
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        format!("{scheme}://{user}@{}/{path}", self.address)
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.shared.held.send_replace(None);
        self.shared.mode.send_replace(mode);
    }

    /// Wait until an `append` was held or cut; gives the types of the messages that passed.
    pub(crate) async fn triggered(&self) -> String {
        let mut held = self.shared.held.subscribe();
        let seen = held.wait_for(Option::is_some).await.expect("a proxy");
        seen.clone().expect("waited for")
    }

    /// Cut every connection.
    pub(crate) fn cut_all(&self) {
        let mut all = self.shared.connections.lock().expect("not poisoned");
        for session in all.drain(..) {
            session.abort();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut_all();
    }
}

fn server_of(url: &str) -> Server {
    let config: tokio_postgres::Config = url.parse().expect("a URL");
    let port = config.get_ports().first().copied().unwrap_or(5432);
    match config.get_hosts().first().expect("a host") {
        tokio_postgres::config::Host::Unix(dir) => {
            Server::Unix(dir.join(format!(".s.PGSQL.{port}")))
        }
        tokio_postgres::config::Host::Tcp(host) => Server::Tcp(format!("{host}:{port}")),
    }
}

async fn serve(shared: Arc<Shared>, mut client: TcpStream) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let server: Box<dyn Duplex> = match &shared.server {
        Server::Unix(path) => Box::new(UnixStream::connect(path).await?),
        Server::Tcp(address) => Box::new(TcpStream::connect(address).await?),
    };
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (mut from_client, mut to_client) = client.split();
    let deaf = AtomicBool::new(false);
    tokio::select! {
        result = watch_client(&shared, &mut from_client, &mut to_server, &deaf) => result,
        result = forward_answers(&mut from_server, &mut to_client, &deaf) => result,
    }
}

/// Until the client is to hear nothing any more.
async fn forward_answers(
    server: &mut (impl AsyncRead + Unpin),
    client: &mut (impl AsyncWrite + Unpin),
    deaf: &AtomicBool,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = server.read(&mut buffer).await?;
        if deaf.load(Ordering::Acquire) {
            std::future::pending::<()>().await;
        }
        if count == 0 {
            return Ok(());
        }
        client.write_all(&buffer[..count]).await?;
    }
}

/// Forward whole messages. Returns when the connection is to be cut.
async fn watch_client(
    shared: &Shared,
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
    deaf: &AtomicBool,
) -> std::io::Result<()> {
    loop {
        let message = read(client, false).await?;
        server.write_all(&message).await?;
        let code = i32::from_be_bytes(message[4..8].try_into().expect("four bytes"));
        if code != SSL_REQUEST && code != GSS_REQUEST {
            break;
        }
    }
    let mut append = None;
    // Types of the messages of the `append` on its way that passed, if something is to happen.
    let mut passed: Option<(Mode, String)> = None;
    loop {
        let message = read(client, true).await?;
        let kind = char::from(message[0]);
        if kind == 'P' && contains(&message, b"call ipledger.append_and_commit(") {
            append = Some(text_at(&message[5..]).to_vec());
        }
        if kind == 'B' {
            let statement = text_at(&message[5 + text_at(&message[5..]).len() + 1..]);
            let mode = *shared.mode.borrow();
            if append.as_deref() == Some(statement) && mode != Mode::Pass {
                // Once only: the connections after this one work again.
                shared.mode.send_replace(Mode::Pass);
                deaf.store(true, Ordering::Release);
                passed = Some((mode, String::new()));
            }
        }
        if let Some((mode, types)) = &mut passed {
            if mode.is_after(types) {
                return shared.trigger(*mode, types).await;
            }
            types.push(kind);
        }
        server.write_all(&message).await?;
        // The last message of an exchange has passed: what is held now is the answer.
        if let Some((mode, types)) = passed.as_ref().filter(|_| kind == 'S') {
            assert!(mode.is_after(types), "an append has only {types:?}");
            return shared.trigger(*mode, types).await;
        }
    }
}

impl Mode {
    fn is_after(self, types: &str) -> bool {
        matches!(self, Mode::HoldAfter(count) | Mode::CutAfter(count) if count == types.len())
    }
}

impl Shared {
    /// Returns when the connection is to be cut.
    async fn trigger(&self, mode: Mode, passed: &str) -> std::io::Result<()> {
        self.held.send_replace(Some(passed.to_owned()));
        match mode {
            Mode::HoldAfter(_) => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

/// One message as it came, with or without a type byte before its length.
async fn read(client: &mut (impl AsyncRead + Unpin), typed: bool) -> std::io::Result<Vec<u8>> {
    let prefix = usize::from(typed);
    let mut message = vec![0; prefix + 4];
    client.read_exact(&mut message).await?;
    let length = u32::from_be_bytes(message[prefix..].try_into().expect("four bytes"));
    let mut body = vec![0; usize::try_from(length).expect("small") - 4];
    client.read_exact(&mut body).await?;
    message.extend(body);
    Ok(message)
}

fn contains(message: &[u8], text: &[u8]) -> bool {
    message.windows(text.len()).any(|window| window == text)
}

/// The bytes before the next zero byte.
fn text_at(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
