use serde_json::Value;

use super::Lookup;
use crate::error::{CniError, Code};

/// `CNI_COMMAND`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Add,
    Del,
    Check,
    Status,
    Gc,
    Version,
}

impl Verb {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ADD" => Verb::Add,
            "DEL" => Verb::Del,
            "CHECK" => Verb::Check,
            "STATUS" => Verb::Status,
            "GC" => Verb::Gc,
            "VERSION" => Verb::Version,
            _ => return None,
        })
    }

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Verb::Add => "ADD",
            Verb::Del => "DEL",
            Verb::Check => "CHECK",
            Verb::Status => "STATUS",
            Verb::Gc => "GC",
            Verb::Version => "VERSION",
        }
    }

    fn has_attachment(self) -> bool {
        matches!(self, Verb::Add | Verb::Del | Verb::Check)
    }

    fn needs(self, variable: &str) -> bool {
        match variable {
            "CNI_CONTAINERID" | "CNI_IFNAME" => self.has_attachment(),
            // The namespace may be gone at DEL; nothing here ever looks into it.
            "CNI_NETNS" => matches!(self, Verb::Add | Verb::Check),
            "CNI_PATH" => self != Verb::Version,
            _ => false,
        }
    }
}

/// The environment of the protocol, judged as the reference skeleton does.
#[derive(Debug)]
pub(crate) struct Variables {
    pub(crate) verb: Verb,
    /// Empty where the verb has none.
    pub(crate) container_id: String,
    /// Empty where the verb has none.
    pub(crate) ifname: String,
    /// `CNI_ARGS`, not yet parsed.
    pub(crate) arguments: String,
}

impl Variables {
    pub(crate) fn read(lookup: Lookup<'_>) -> Result<Self, CniError> {
        let command = lookup("CNI_COMMAND").unwrap_or_default();
        let Some(verb) = Verb::parse(&command) else {
            let why = "is no CNI command (ADD, DEL, CHECK, GC, STATUS, VERSION)";
            return Err(wrong("CNI_COMMAND", &command, why));
        };
        let missing: Vec<_> = ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"]
            .into_iter()
            .filter(|name| verb.needs(name) && lookup(name).is_none())
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(",");
            let message = format!("required env variables [{missing}] missing");
            return Err(CniError::new(Code::InvalidEnvironment, message));
        }
        let mut variables = Self {
            verb,
            container_id: String::new(),
            ifname: String::new(),
            arguments: String::new(),
        };
        if verb.has_attachment() {
            variables.container_id = lookup("CNI_CONTAINERID").unwrap_or_default();
            variables.ifname = lookup("CNI_IFNAME").unwrap_or_default();
            variables.arguments = lookup("CNI_ARGS").unwrap_or_default();
            check_container_id(&variables.container_id)?;
            check_ifname(&variables.ifname)?;
        }
        Ok(variables)
    }
}

fn wrong(name: &str, value: &str, why: &str) -> CniError {
    CniError::value(Code::InvalidEnvironment, name, &Value::from(value), why)
}

/// The specification's rule for container ids and network names.
pub(crate) fn is_cni_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "_.-".contains(char))
}

fn check_container_id(text: &str) -> Result<(), CniError> {
    if is_cni_name(text) {
        return Ok(());
    }
    let why = "has invalid characters (a letter or digit first, then also \"_\", \".\" and \"-\")";
    Err(wrong("CNI_CONTAINERID", text, why))
}

/// The kernel's rule for interface names.
fn check_ifname(text: &str) -> Result<(), CniError> {
    let why = if text.len() > 15 {
        "is too long for an interface name (at most 15 characters)"
    } else if text == "." || text == ".." {
        "is no interface name"
    } else if text.contains(['/', ':']) {
        "contains \"/\" or \":\""
    } else if text.contains(char::is_whitespace) {
        "contains white space"
    } else if text.contains(char::REPLACEMENT_CHARACTER) {
        "is not UTF-8"
    } else {
        return Ok(());
    };
    Err(wrong("CNI_IFNAME", text, why))
}
