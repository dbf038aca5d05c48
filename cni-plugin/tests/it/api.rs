//! A server in place of the API, for faults and exact bytes. It answers each request by a
//! function and records what it was sent. The whole path with the real API is tested end to end.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `POST /v1/allocate`.
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// What to do with a request.
pub(crate) enum Reply {
    Json(u16, Value),
    /// These bytes, then close.
    Raw(String),
    /// Close without a word.
    Cut,
    /// Say nothing until the client leaves.
    Hang,
}

pub(crate) struct Api {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Api {
    /// Serves on a port of its own until the test process ends. `reply` also gets the number of
    /// the request, counted from 0.
    pub(crate) fn start(reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::serve(TcpListener::bind("127.0.0.1:0").unwrap(), reply)
    }

    pub(crate) fn serve(
        listener: TcpListener,
        reply: impl Fn(usize, &Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let api = Self {
            address,
            requests: Arc::clone(&requests),
        };
        let reply = Arc::new(reply);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (requests, reply) = (Arc::clone(&requests), Arc::clone(&reply));
                std::thread::spawn(move || answer(connection.unwrap(), &requests, &*reply));
            }
        });
        api
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// The bodies of the requests to this path.
    pub(crate) fn bodies(&self, path: &str) -> Vec<Value> {
        let to = |request: &Request| request.line.split(' ').nth(1).unwrap().starts_with(path);
        self.requests()
            .into_iter()
            .filter(to)
            .map(|request| request.body)
            .collect()
    }
}

/// An address on which nothing listens: no server of these tests, and none that a machine has,
/// takes port 1 of this loopback address. (A port that was free a moment ago may be another
/// test's by now.)
pub(crate) fn nobody() -> String {
    "http://127.255.0.1:1".to_owned()
}

fn answer(
    mut connection: TcpStream,
    requests: &Mutex<Vec<Request>>,
    reply: &dyn Fn(usize, &Request) -> Reply,
) {
    let Some(request) = read_request(&mut connection) else {
        return;
    };
    let number = {
        let mut requests = requests.lock().unwrap();
        requests.push(request.clone());
        requests.len() - 1
    };
    // The client may have left at any time; that is its right.
    match reply(number, &request) {
        Reply::Json(status, body) => {
            let body = body.to_string();
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n\r\n");
            drop(connection.write_all((head + &body).as_bytes()));
        }
        Reply::Raw(text) => drop(connection.write_all(text.as_bytes())),
        Reply::Cut => {}
        Reply::Hang => drop(connection.read(&mut [0])),
    }
}

fn read_request(connection: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let mut block = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return Some(Request {
                    line: head.split(" HTTP/1.1").next().unwrap().to_owned(),
                    head: head.to_owned(),
                    body: serde_json::from_str(body).unwrap_or_default(),
                });
            }
        }
        match connection.read(&mut block) {
            Ok(0) | Err(_) => return None,
            Ok(length) => bytes.extend_from_slice(&block[..length]),
        }
    }
}

/// The answer to an allocate or a lookup with these addresses.
pub(crate) fn allocated(addresses: &[&str]) -> Reply {
    let addresses: Vec<_> = addresses
        .iter()
        .map(|cidr| {
            let (address, length) = cidr.split_once('/').unwrap();
            json!({ "address": address, "prefix_length": length.parse::<u8>().unwrap(),
                    "space": "prod", "pool": "p", "step": 0, "seq": 1 })
        })
        .collect();
    let answer = json!({ "addresses": addresses, "repeated": false, "dry_run": false, "epoch": 1 });
    Reply::Json(200, answer)
}

pub(crate) fn released() -> Reply {
    Reply::Json(200, json!({ "released": [], "stale": false, "epoch": 1 }))
}

pub(crate) fn problem(code: ProblemCode) -> Reply {
    problem_about(code, None, &format!("says {}", code.as_str()))
}

pub(crate) fn problem_about(code: ProblemCode, key: Option<&str>, detail: &str) -> Reply {
    let body = json!({
        "type": format!("urn:ipledger:problem:{}", code.as_str()), "title": code.title(),
        "status": code.status(), "detail": detail, "code": code, "key": key,
        "retryable": code.is_retryable(), "request_id": "r1",
    });
    Reply::Json(code.status(), body)
}

/// Serves every call: each allocate gets 10.10.3.30/24.
pub(crate) fn kind_api() -> Api {
    Api::start(|_, request| kindly(request))
}

pub(crate) fn kindly(request: &Request) -> Reply {
    match request.line.split(['?']).next().unwrap() {
        "POST /v1/allocate" | "GET /v1/attachments" => allocated(&["10.10.3.30/24"]),
        "POST /v1/release" => released(),
        "POST /v1/gc" => Reply::Json(200, json!({ "released": 0, "suspect": 1 })),
        "POST /v1/ranges/check" => Reply::Json(200, json!({ "windows": [], "servable": true })),
        "GET /readyz" => Reply::Json(200, json!({})),
        _ => problem(ProblemCode::NotFound),
    }
}
