//! A definition or two, and the calls that are made with them.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// What happens on one small cluster of its own, step by step.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Names it among all cases; also a Kubernetes namespace and a cluster.
    pub id: String,
    /// Keys of the definition's top level; `null` takes one away.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub net: Map<String, Value>,
    /// The `ipam` value; an object gets its `type` and a flat file that whereabouts can work with.
    #[serde(default)]
    pub ipam: Value,
    /// The `ipam` objects of further definitions, called 1, 2, ... in the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Value>,
    /// Keys of the flat file beside `kubernetes`; `null` takes one away.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub flat: Map<String, Value>,
    /// The flat file's text instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flat_text: Option<String>,
    /// There is no flat file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_flat_file: bool,
    /// Standard input instead of a definition; `{configuration_path}` stands for the flat file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// Environment variables; `null` takes one away. `{pod}` stands for the pod's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, Option<String>>,
    /// A NodeSlicePool of 10.0.0.0/16 that gives this slice to the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<String>,
    /// `ADD a`, `DEL a`: a verb and a pod; `a#2` is its second sandbox, `a!2` the pod of that
    /// name that came after it, `a@net2` another interface; `ADD a 1` uses another definition.
    #[serde(default = "usual_steps")]
    pub steps: Vec<String>,
    /// The headings of docs/compatibility.md that explain why the answers differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<String>,
}

fn usual_steps() -> Vec<String> {
    ["ADD a", "ADD b", "ADD a", "DEL a", "ADD c"]
        .map(str::to_owned)
        .into()
}

/// What one step gives a plugin.
#[derive(Debug)]
pub struct Call {
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// The network configuration.
    pub stdin: Vec<u8>,
}

impl Case {
    /// The text of the flat file, if there is one. It names this kubeconfig.
    #[must_use]
    pub fn flat_file(&self, kubeconfig: &Path) -> Option<String> {
        if self.no_flat_file {
            return None;
        }
        let mut keys = json!({"kubernetes": {"kubeconfig": kubeconfig}});
        overlay(&mut keys, &self.flat);
        Some(self.flat_text.clone().unwrap_or_else(|| keys.to_string()))
    }

    /// The call of a step. With a `configuration_path` every definition without one names it.
    pub fn call(&self, step: &str, configuration_path: Option<&Path>) -> Result<Call> {
        let words: Vec<&str> = step.split(' ').collect();
        ensure!((1..=3).contains(&words.len()), "{}: {step:?}", self.id);
        let definition = match words.get(2) {
            None => &self.ipam,
            Some(number) => {
                let index = number.parse::<usize>().context("a definition's number")?;
                self.others.get(index - 1).context("a definition")?
            }
        };
        let stdin = match &self.stdin {
            Some(text) => {
                let flat_file = Path::new("/etc/cni/net.d/whereabouts.d/whereabouts.conf");
                let path = configuration_path.unwrap_or(flat_file).display();
                text.replace("{configuration_path}", &path.to_string())
            }
            None => self.network(definition, configuration_path).to_string(),
        };
        Ok(Call {
            variables: self.variables(words[0], words.get(1).copied().unwrap_or("a")),
            stdin: stdin.into_bytes(),
        })
    }

    fn network(&self, ipam: &Value, configuration_path: Option<&Path>) -> Value {
        let mut ipam = ipam.clone();
        if let Some(keys) = ipam.as_object_mut() {
            keys.entry("type").or_insert_with(|| "whereabouts".into());
            if let Some(path) = configuration_path {
                keys.entry("configuration_path")
                    .or_insert_with(|| json!(path));
            }
        }
        let mut network = json!({"cniVersion": "1.0.0", "name": "net-a", "type": "macvlan"});
        if !ipam.is_null() {
            network["ipam"] = ipam;
        }
        overlay(&mut network, &self.net);
        network
    }

    fn variables(&self, verb: &str, who: &str) -> BTreeMap<String, String> {
        let (who, ifname) = who.split_once('@').unwrap_or((who, "net1"));
        let (who, life) = who.split_once('!').unwrap_or((who, "1"));
        let (pod, sandbox) = who.split_once('#').unwrap_or((who, "1"));
        let container = format!("{pod}-{life}-{sandbox}");
        let arguments = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod};\
             K8S_POD_INFRA_CONTAINER_ID={container};K8S_POD_UID=uid-{pod}-{life}"
        );
        let mut variables: BTreeMap<String, String> = [
            ("CNI_COMMAND", verb),
            ("CNI_CONTAINERID", &container),
            ("CNI_IFNAME", ifname),
            ("CNI_PATH", "/opt/cni/bin"),
            ("CNI_NETNS", "/var/run/netns/gone"),
            ("CNI_ARGS", &arguments),
            ("NODENAME", "node-1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        for (name, value) in &self.variables {
            match value {
                Some(value) => variables.insert(name.clone(), value.replace("{pod}", pod)),
                None => variables.remove(name),
            };
        }
        variables
    }
}

fn overlay(object: &mut Value, keys: &Map<String, Value>) {
    let object = object.as_object_mut().expect("both bases are objects");
    for (key, value) in keys {
        match value {
            Value::Null => object.remove(key),
            value => object.insert(key.clone(), value.clone()),
        };
    }
}
