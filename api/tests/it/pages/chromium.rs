//! A real Chromium, driven by the DevTools protocol.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::support::wait_until;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser and one tab; it ends when dropped.
pub(super) struct Chromium {
    child: Child,
    _profile: tempfile::TempDir,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    calls: u64,
    /// What the browser told without being asked.
    pub(super) events: Vec<Value>,
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Debian's Chromium, if it is on this machine.
pub(super) fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .flat_map(|directory| ["chromium", "chromium-browser"].map(|name| directory.join(name)))
        .find(|program| program.is_file())
}

impl Chromium {
    pub(super) async fn start(program: &Path) -> Chromium {
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--hide-scrollbars",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromium starts");
        let port_file = profile.path().join("DevToolsActivePort");
        let read = || std::fs::read_to_string(&port_file).unwrap_or_default();
        wait_until("chromium listens", async || read().lines().count() >= 2).await;
        let text = read();
        let (port, path) = text.split_once('\n').unwrap();
        let url = format!("ws://127.0.0.1:{port}{}", path.trim());
        let (socket, _) = tokio_tungstenite::connect_async(url)
            .await
            .expect("DevTools");
        let mut chromium = Chromium {
            child,
            _profile: profile,
            socket,
            session: None,
            calls: 0,
            events: Vec::new(),
        };
        let target = chromium
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = chromium.call("Target.attachToTarget", attach).await;
        chromium.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            chromium.call(&format!("{domain}.enable"), json!({})).await;
        }
        chromium
    }

    pub(super) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let message = Message::text(message.to_string());
        self.socket
            .send(message)
            .await
            .expect("the browser listens");
        loop {
            let answer = self.read().await;
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    async fn read(&mut self) -> Value {
        let message = tokio::time::timeout(PATIENCE, self.socket.next()).await;
        let message = message
            .expect("the browser answers in time")
            .expect("it lives")
            .unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// Opens a page and waits until it is loaded.
    pub(super) async fn open(&mut self, url: &str) {
        self.events
            .retain(|event| event["method"] != "Page.loadEventFired");
        self.call("Page.navigate", json!({"url": url})).await;
        self.loaded().await;
    }

    /// Waits until a page is loaded.
    pub(super) async fn loaded(&mut self) {
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.read().await;
            self.events.push(event);
        }
    }

    /// The value of an expression, of a promise its outcome.
    pub(super) async fn value(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params).await;
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(super) async fn until(&mut self, expression: &str) {
        let waiting = format!(
            "new Promise((done) => {{ const end = Date.now() + 30000;
              const look = () => ({expression}) ? done(true)
                : Date.now() > end ? done(document.body.innerText) : setTimeout(look, 20);
              look(); }})"
        );
        let outcome = self.value(&waiting).await;
        assert_eq!(outcome, json!(true), "{expression}");
    }

    pub(super) async fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, None),
            "Enter" => (13, Some("\r")),
            "ArrowRight" => (39, None),
            "ArrowDown" => (40, None),
            "End" => (35, None),
            other => panic!("{other} is not taught"),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut params =
                json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code});
            if let (Some(text), "keyDown") = (text, kind) {
                params["text"] = json!(text);
            }
            self.call("Input.dispatchKeyEvent", params).await;
        }
    }

    /// Width and height in CSS pixels, and the colour scheme.
    pub(super) async fn look_like(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size).await;
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", feature).await;
    }

    /// A picture of the whole page.
    pub(super) async fn picture(&mut self, path: &Path) {
        use base64::Engine as _;
        let shot = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", shot).await;
        let data = answer["data"].as_str().unwrap();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data)
            .unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Errors that the console would show.
    pub(super) fn errors(&self) -> Vec<&Value> {
        let is_error = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => event["params"]["type"] == "error",
            Some("Log.entryAdded") => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_error).collect()
    }

    /// What was asked of whom.
    pub(super) fn requests(&self) -> Vec<&str> {
        let sent = self
            .events
            .iter()
            .filter(|event| event["method"] == "Network.requestWillBeSent");
        sent.filter_map(|event| event["params"]["request"]["url"].as_str())
            .collect()
    }
}
