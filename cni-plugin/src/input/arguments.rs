use ipledger_client::types::Owner;
use serde_json::Value;

use super::Mode;
use crate::error::{CniError, Code};

/// What `CNI_ARGS` says: `K8S_POD_NAME=a;K8S_POD_NAMESPACE=b;...`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) ip: Option<String>,
    pub(crate) gateway: Option<String>,
}

impl Arguments {
    /// Parses the text. Unknown keys are tolerated, except in whereabouts' language without
    /// `IgnoreUnknown=1`, where whereabouts refuses them.
    pub(crate) fn parse(text: &str, mode: Mode) -> Result<Self, CniError> {
        let mut arguments = Self::default();
        let mut ignore_unknown = mode == Mode::Strict;
        let mut unknown = Vec::new();
        let trailing = |pair: &str| mode == Mode::Strict && pair.is_empty();
        for pair in text
            .split(';')
            .filter(|pair| !text.is_empty() && !trailing(pair))
        {
            let invalid = |why: &str| {
                CniError::value(
                    Code::InvalidEnvironment,
                    "CNI_ARGS",
                    &Value::from(pair),
                    why,
                )
            };
            let Some((key, value)) = pair
                .split_once('=')
                .filter(|(_, value)| !value.contains('='))
            else {
                return Err(invalid("is no pair of the form KEY=VALUE"));
            };
            let target = match key {
                "K8S_POD_NAMESPACE" => &mut arguments.namespace,
                "K8S_POD_NAME" => &mut arguments.name,
                "K8S_POD_UID" => &mut arguments.uid,
                "IP" => &mut arguments.ip,
                "GATEWAY" => &mut arguments.gateway,
                "IgnoreUnknown" => {
                    let said =
                        boolean(value).ok_or_else(|| invalid("is neither true nor false"))?;
                    ignore_unknown |= said;
                    continue;
                }
                // The sandbox, which is CNI_CONTAINERID by another name.
                "K8S_POD_INFRA_CONTAINER_ID" => continue,
                _ => {
                    unknown.push(pair);
                    continue;
                }
            };
            *target = Some(value.to_owned()).filter(|value| !value.is_empty());
        }
        if ignore_unknown || unknown.is_empty() {
            return Ok(arguments);
        }
        let why = "are unknown keys, and IgnoreUnknown=1 is not set";
        Err(CniError::value(
            Code::InvalidEnvironment,
            "CNI_ARGS",
            &Value::from(unknown),
            why,
        ))
    }

    /// The pod, if it is named in full.
    pub(crate) fn owner(&self, node: Option<&str>) -> Option<Owner> {
        Some(Owner {
            namespace: self.namespace.clone()?,
            name: self.name.clone()?,
            uid: self.uid.clone(),
            node: node.map(str::to_owned),
        })
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" => Some(true),
        "0" | "false" => Some(false),
        _ => None,
    }
}
