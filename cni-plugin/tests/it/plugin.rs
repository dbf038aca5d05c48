//! Runs the plugin: the real binary as a process, or `dispatch` in process with a made-up host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cni_plugin::error::CniError;
use cni_plugin::{Call, Host, dispatch, plan};
use ipledger_client::types::AllocateRequest;
use serde_json::{Value, json};
use tempfile::TempDir;

/// One call to be made, and the node's directory that it works in.
pub(crate) struct Plugin {
    pub(crate) directory: TempDir,
    pub(crate) variables: BTreeMap<String, OsString>,
    pub(crate) stdin: Vec<u8>,
}

/// What a call answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A strict definition with one range.
pub(crate) fn strict() -> Value {
    json!({ "cniVersion": "1.0.0", "name": "super-net", "type": "macvlan", "ipam": {
        "type": "ipledger", "cluster": "prod", "range": "10.10.3.0/24" } })
}

/// A definition as whereabouts' users have it.
pub(crate) fn whereabouts() -> Value {
    json!({ "cniVersion": "0.3.0", "name": "super-net", "type": "macvlan", "master": "eth1",
        "mode": "bridge", "ipam": { "type": "whereabouts", "range": "10.10.3.0/24" } })
}

/// The definition with other `ipam` keys; `null` takes one away.
pub(crate) fn with_ipam(mut definition: Value, keys: Value) -> Value {
    for (key, value) in keys.as_object().unwrap() {
        definition["ipam"][key] = value.clone();
    }
    definition
}

/// The definition with other keys at the top level.
pub(crate) fn with(mut definition: Value, keys: Value) -> Value {
    for (key, value) in keys.as_object().unwrap() {
        definition[key] = value.clone();
    }
    definition
}

impl Plugin {
    /// A valid call of this command for a pod, at an API address.
    pub(crate) fn new(command: &str, api: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let queue = directory.path().join("queue").into_os_string();
        let plugin = Self {
            directory,
            variables: BTreeMap::new(),
            stdin: strict().to_string().into_bytes(),
        };
        plugin
            .variable("CNI_COMMAND", command)
            .variable("CNI_CONTAINERID", "c0ffee")
            .variable("CNI_IFNAME", "net1")
            .variable("CNI_NETNS", "/var/run/netns/gone")
            .variable("CNI_PATH", "/opt/cni/bin")
            .variable("CNI_ARGS", "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod;K8S_POD_UID=u-1;K8S_POD_INFRA_CONTAINER_ID=c0ffee")
            .variable("NODENAME", "node-1")
            .variable("IPLEDGER_API_URL", api)
            .variable("IPLEDGER_QUEUE_DIR", queue)
    }

    pub(crate) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    pub(crate) fn definition(mut self, definition: &Value) -> Self {
        self.stdin = definition.to_string().into_bytes();
        self
    }

    pub(crate) fn stdin(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.stdin = text.into();
        self
    }

    pub(crate) fn queue(&self) -> PathBuf {
        self.directory.path().join("queue")
    }

    /// Names of the files that wait in the queue.
    pub(crate) fn queued(&self) -> Vec<String> {
        files(&self.queue())
    }

    /// Runs the binary.
    pub(crate) fn run(&self) -> Answer {
        self.run_with(&[])
    }

    /// Runs the binary with arguments.
    pub(crate) fn run_with(&self, arguments: &[&str]) -> Answer {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ipledger"))
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A plugin that refuses early does not read its input to the end.
        let _ = child.stdin.take().unwrap().write_all(&self.stdin);
        let output = child.wait_with_output().unwrap();
        Answer {
            status: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs the call in process, on a host whose root is the call's own directory. Files of the
    /// host can be laid there with [`Plugin::file`].
    pub(crate) fn run_inside(&self) -> Answer {
        self.run_inside_with(&[])
    }

    /// The same with arguments.
    pub(crate) fn run_inside_with(&self, arguments: &[&str]) -> Answer {
        let arguments: Vec<OsString> = ["ipledger"]
            .iter()
            .chain(arguments)
            .map(OsString::from)
            .collect();
        let host = Host {
            root: self.directory.path().to_owned(),
            ..Host::this()
        };
        let mut stdin = self.stdin.as_slice();
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let status = dispatch(Call {
            arguments: &arguments,
            variable: &|name| self.variables.get(name).cloned(),
            stdin: &mut stdin,
            stdout: &mut stdout,
            stderr: &mut stderr,
            host: &host,
        });
        Answer {
            status: status.into(),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// What an ADD would ask for, or what it would print.
    pub(crate) fn plan(&self) -> Result<Option<AllocateRequest>, CniError> {
        let host = Host {
            root: self.directory.path().to_owned(),
            ..Host::this()
        };
        plan(Call {
            arguments: &[],
            variable: &|name| self.variables.get(name).cloned(),
            stdin: &mut self.stdin.as_slice(),
            stdout: &mut Vec::new(),
            stderr: &mut Vec::new(),
            host: &host,
        })
    }

    /// Lays a file of the host for [`Plugin::run_inside`].
    pub(crate) fn file(self, path: &str, text: &str) -> Self {
        let path = self.directory.path().join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }
}

/// Names of the JSON files in a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.retain(|name| name.ends_with(".json"));
    names.sort();
    names
}

impl Answer {
    /// The JSON object on stdout.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Success without output.
    pub(crate) fn assert_silent_success(&self) {
        assert_eq!((self.status, self.stdout.as_str()), (0, ""), "{self:?}");
    }

    /// Failure; gives code and message.
    pub(crate) fn failure(&self) -> (u64, String) {
        assert_eq!(self.status, 1, "{self:?}");
        let json = self.json();
        (
            json["code"].as_u64().unwrap(),
            json["msg"].as_str().unwrap().to_owned(),
        )
    }

    pub(crate) fn code(&self) -> u64 {
        self.failure().0
    }
}
