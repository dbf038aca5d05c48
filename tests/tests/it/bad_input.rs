//! Definitions and calls with exactly one thing wrong, and the exact words that each is told. The
//! rows stand in `tests/fixtures/bad-input`; `IPLEDGER_BLESS=1` writes what is told now into them,
//! to be read and committed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use e2e::binaries;
use e2e::differential::case::Call;
use e2e::differential::ours::call_inside;
use e2e::service::Service;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

const CLASSES: [&str; 7] = [
    "document",
    "environment",
    "flat-file",
    "keys",
    "ranges",
    "requests",
    "whereabouts",
];

/// A valid call with one thing changed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// Keys of the `ipam` block; `null` takes one away.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    ipam: Map<String, Value>,
    /// Keys of the top level.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    net: Map<String, Value>,
    /// Keys of the flat file, which is not there otherwise.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    flat: Map<String, Value>,
    /// The text of the flat file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flat_text: Option<String>,
    /// All of standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    variables: BTreeMap<String, Option<String>>,
    /// The API must judge it; everything else is refused without a request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    asks: bool,
    code: u64,
    message: String,
}

impl Row {
    fn call(&self, api: &str) -> Call {
        let network = self
            .stdin
            .clone()
            .unwrap_or_else(|| self.network().to_string());
        let arguments = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod;\
                         K8S_POD_UID=u-1;K8S_POD_INFRA_CONTAINER_ID=c0ffee";
        let mut variables: BTreeMap<String, String> = [
            ("CNI_COMMAND", "ADD"),
            ("CNI_CONTAINERID", "c0ffee"),
            ("CNI_IFNAME", "net1"),
            ("CNI_NETNS", "/var/run/netns/gone"),
            ("CNI_PATH", "/opt/cni/bin"),
            ("CNI_ARGS", arguments),
            ("NODENAME", "node-1"),
            ("IPLEDGER_API_URL", api),
            ("IPLEDGER_QUEUE_DIR", "/queue"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        for (name, value) in &self.variables {
            match value {
                Some(value) => variables.insert(name.clone(), value.clone()),
                None => variables.remove(name),
            };
        }
        Call {
            variables,
            stdin: network.into_bytes(),
        }
    }

    fn network(&self) -> Value {
        let mut network = json!({
            "cniVersion": "1.0.0", "name": "super-net", "type": "macvlan",
            "ipam": {"type": "ipledger", "cluster": "prod", "range": "10.10.3.0/24",
                     "timeout_seconds": 1},
        });
        overlay(&mut network["ipam"], &self.ipam);
        overlay(&mut network, &self.net);
        network
    }

    fn lay_flat_file(&self, root: &Path) -> Result<()> {
        let text = self.flat_text.clone().or_else(|| {
            (!self.flat.is_empty()).then(|| Value::from(self.flat.clone()).to_string())
        });
        let directory = root.join("etc/cni/net.d/ipledger.d");
        fs::create_dir_all(&directory)?;
        if let Some(text) = text {
            fs::write(directory.join("ipledger.conf"), text)?;
        }
        Ok(())
    }
}

fn overlay(object: &mut Value, keys: &Map<String, Value>) {
    for (key, value) in keys {
        match value {
            Value::Null => drop(object.as_object_mut().expect("an object").remove(key)),
            value => object[key] = value.clone(),
        }
    }
}

/// Code and message of what is told, and that nothing is left behind.
fn told(row: &Row, api: &str) -> Result<(u64, String)> {
    let root = tempfile::tempdir()?;
    row.lay_flat_file(root.path())?;
    let (status, stdout) = call_inside(root.path(), &row.call(api));
    ensure!(status == 1, "exit status {status}: {stdout}");
    let error: Value = serde_json::from_str(&stdout).context("one JSON object")?;
    ensure!(
        !root.path().join("queue").exists(),
        "something was queued: {stdout}"
    );
    ensure!(error["code"] != 11, "was asked for: {stdout}");
    let message = error["msg"].as_str().context("msg")?.to_owned();
    Ok((error["code"].as_u64().context("code")?, message))
}

fn path(class: &str) -> PathBuf {
    let name = format!("fixtures/bad-input/{class}.jsonl");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn bless(class: &str, rows: &[Row]) -> Result<()> {
    let lines = rows.iter().map(serde_json::to_string);
    let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
    Ok(fs::write(path(class), lines.join("\n") + "\n")?)
}

#[test]
fn each_mistake_is_told_in_its_own_words_and_gets_no_address() -> Result<()> {
    let service = Service::start(&binaries::directory()?.join("ipledger-api"))?;
    let blessing = std::env::var_os("IPLEDGER_BLESS").is_some();
    let (mut count, mut wrong) = (0, String::new());
    for class in CLASSES {
        let text = fs::read_to_string(path(class)).context(class)?;
        let rows = text.lines().map(serde_json::from_str::<Row>);
        let mut rows: Vec<Row> = rows.collect::<Result<_, _>>().context(class)?;
        for (number, row) in (1..).zip(&mut rows) {
            // Where nobody answers, who asks would be told to try again later.
            let api = if row.asks {
                service.address()
            } else {
                "unix:/nobody".into()
            };
            let expected = (row.code, row.message.clone());
            match told(row, &api) {
                Err(error) => wrong += &format!("{class}:{number}: {error:#}\n"),
                Ok(told) if blessing => (row.code, row.message) = told,
                Ok(told) if told == expected => {}
                Ok(told) => wrong += &format!("{class}:{number}: {told:?}, not {expected:?}\n"),
            }
        }
        count += rows.len();
        if blessing {
            bless(class, &rows)?;
        }
    }
    ensure!(wrong.is_empty(), "{wrong}");
    ensure!(count >= 150, "{count} rows");
    let holds = service.get("/v1/holds")?;
    ensure!(holds["holds"] == json!([]), "{holds}");
    Ok(())
}
