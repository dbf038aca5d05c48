//! HTTP/1.1 by hand: one request per connection, so that tests decide about every byte.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

use super::document;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a server listens.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// A header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Status and code of a problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let body = self.json();
        assert_eq!(body["status"], self.status, "{self:?}");
        assert_eq!(
            body["request_id"].as_str(),
            self.header("x-request-id"),
            "{self:?}"
        );
        assert_eq!(
            body["retryable"],
            self.header("retry-after").is_some(),
            "{self:?}"
        );
        (self.status, body["code"].as_str().unwrap().to_owned())
    }

    /// The sentence of a problem.
    pub(crate) fn detail(&self) -> String {
        self.json()["detail"].as_str().unwrap().to_owned()
    }
}

pub(crate) async fn open(target: &Target) -> std::io::Result<Box<dyn Stream>> {
    Ok(match target {
        Target::Tcp(address) => Box::new(TcpStream::connect(address).await?),
        Target::Unix(path) => Box::new(UnixStream::connect(path).await?),
    })
}

/// One request and its answer. A problem must be one that the document lists.
pub(crate) async fn exchange(
    target: &Target,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = open(target).await.expect("the server accepts");
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if !body.is_empty() || method == "POST" {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    head.push_str(body);
    // A refused body may not be read to its end; the answer says why.
    let _ = stream.write_all(head.as_bytes()).await;
    let answer = read(&mut stream, method != "HEAD")
        .await
        .expect("an answer");
    document::check(method, path, &answer);
    answer
}

/// Reads one answer; `None` if the connection ended without one.
pub(crate) async fn read_answer(stream: &mut (impl AsyncRead + Unpin + ?Sized)) -> Option<Answer> {
    read(stream, true).await
}

/// The answer to HEAD has the length of a body and no body.
async fn read(stream: &mut (impl AsyncRead + Unpin + ?Sized), with_body: bool) -> Option<Answer> {
    let mut bytes = Vec::new();
    let reading = async {
        let mut piece = [0; 16 * 1024];
        loop {
            if let Some(answer) = parse(&bytes, with_body) {
                return Some(answer);
            }
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return None,
                Ok(length) => bytes.extend_from_slice(&piece[..length]),
            }
        }
    };
    tokio::time::timeout(PATIENCE, reading)
        .await
        .expect("an answer or the end in time")
}

/// `None` while the answer is incomplete.
fn parse(bytes: &[u8], with_body: bool) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(key, _)| with_body && key == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap());
    let body = bytes.get(end + 4..end + 4 + length)?;
    Some(Answer {
        status,
        headers,
        text: String::from_utf8(body.to_vec()).unwrap(),
    })
}
