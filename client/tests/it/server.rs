//! A server that follows a script: for each connection in turn it reads one request and then
//! does what the script says. It records what it was sent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What to do with a connection.
#[derive(Clone)]
pub(crate) enum Do {
    /// Send these bytes and close.
    Say(String),
    /// Close without a word, after the request was read.
    Cut,
    /// Keep the connection open and say nothing until the client leaves.
    Hang,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

/// Starts a server; the last step of the script is repeated for ever. It ends with the test
/// process, and holds nothing but a port.
pub(crate) fn start(script: Vec<Do>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        address: listener.local_addr().unwrap(),
        requests: Arc::new(Mutex::default()),
    };
    let requests = Arc::clone(&server.requests);
    std::thread::spawn(move || {
        for (index, connection) in listener.incoming().enumerate() {
            let step = script[index.min(script.len() - 1)].clone();
            serve(connection.unwrap(), step, &requests);
        }
    });
    server
}

impl Server {
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn serve(mut connection: TcpStream, step: Do, requests: &Mutex<Vec<String>>) {
    let request = read_request(&mut connection);
    requests.lock().unwrap().push(request);
    match step {
        // The client may have left; that is its right.
        Do::Say(text) => drop(connection.write_all(text.as_bytes())),
        Do::Cut => {}
        Do::Hang => drop(connection.read(&mut [0])),
    }
}

pub(crate) fn read_request(connection: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(": "))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .map_or(0, |(_, length)| length.parse().unwrap());
            if body.len() >= length {
                return text;
            }
        }
        match connection.read(&mut block) {
            Ok(0) | Err(_) => return text,
            Ok(length) => bytes.extend_from_slice(&block[..length]),
        }
    }
}

/// A complete HTTP answer.
pub(crate) fn answer(status: u16, body: &str) -> Do {
    let length = body.len();
    Do::Say(format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    ))
}

/// A problem body of this code.
pub(crate) fn problem(code: ipledger_client::types::ProblemCode) -> Do {
    let body = serde_json::json!({
        "type": format!("urn:ipledger:problem:{}", code.as_str()),
        "title": code.title(), "status": code.status(), "detail": format!("says {}", code.as_str()),
        "code": code, "retryable": code.is_retryable(), "request_id": "r1",
    });
    answer(code.status(), &body.to_string())
}
