//! What a plugin answered, as far as it can be compared.

use std::process::Output;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One call's answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// `ok`, or what kind of failure it was.
    pub class: Class,
    /// What a success printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// A failure's own words, for the reader; they are not compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Equal are the same result and the same class; each plugin has its own words.
impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        (self.class, &self.result) == (other.class, &other.result)
    }
}

/// What kind of answer it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Success.
    Ok,
    /// The definition cannot be meant.
    Config,
    /// The environment cannot be meant.
    Environment,
    /// The version is not spoken or does not have the verb.
    Version,
    /// No address is free.
    Exhausted,
    /// The reservation is not there (CHECK), or no ADD would be served (STATUS).
    Unavailable,
    /// The request contradicts what is recorded.
    Conflict,
    /// Try again.
    Again,
    /// The store refused, whatever was asked.
    Storage,
    /// The verb has no implementation.
    Unimplemented,
    /// It died without an answer.
    Crash,
}

impl Answer {
    fn success(stdout: &str) -> Self {
        Self {
            class: Class::Ok,
            result: serde_json::from_str(stdout).ok(),
            message: None,
        }
    }

    fn failure(class: Class, message: &str) -> Self {
        Self {
            class,
            result: None,
            message: Some(message.chars().take(160).collect()),
        }
    }

    /// What whereabouts' process came to.
    #[must_use]
    pub fn of_whereabouts(output: &Output) -> Self {
        let stdout = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => Self::success(&stdout),
            Some(1) => {
                let (code, message) = failure(&stdout);
                Self::failure(class_of_whereabouts(code, &message), &message)
            }
            _ => Self::failure(Class::Crash, "panic"),
        }
    }

    /// What ipledger came to.
    #[must_use]
    pub fn of_ipledger(status: i32, stdout: &str) -> Self {
        match status {
            0 => Self::success(stdout),
            1 => {
                let (code, message) = failure(stdout);
                Self::failure(class_of_ipledger(code), &message)
            }
            _ => Self::failure(Class::Crash, "panic"),
        }
    }
}

fn failure(stdout: &str) -> (u64, String) {
    let error: Value = serde_json::from_str(stdout).unwrap_or_default();
    let message = error["msg"].as_str().unwrap_or(stdout).to_owned();
    (error["code"].as_u64().unwrap_or_default(), message)
}

/// whereabouts has one code for nearly everything, so its words tell the rest.
fn class_of_whereabouts(code: u64, message: &str) -> Class {
    let says = |text: &str| message.contains(text);
    match code {
        1 => Class::Version,
        4 => Class::Environment,
        _ if says("Could not allocate IP in range") => Class::Exhausted,
        _ if says("CNI Args Parsing Error") || says("no pod name") => Class::Environment,
        _ if says("CHECK method is not implemented") => Class::Unimplemented,
        _ if says("time limit exceeded") => Class::Again,
        _ if says("is invalid:") => Class::Storage,
        _ => Class::Config,
    }
}

fn class_of_ipledger(code: u64) -> Class {
    match code {
        1 => Class::Version,
        4 => Class::Environment,
        2 | 6 | 7 | 103 => Class::Config,
        50 | 104 => Class::Unavailable,
        100 | 106 => Class::Exhausted,
        11 => Class::Again,
        _ => Class::Conflict,
    }
}
