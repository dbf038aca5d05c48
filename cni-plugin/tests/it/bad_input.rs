//! Whatever is wrong with the input: one error with the right code that names the key and the
//! value, nothing asked of the API, no panic. Each row has exactly one thing wrong.

mod call;
mod definition;

use serde_json::{Value, json};

use crate::api::kind_api;
use crate::plugin::{Plugin, strict, whereabouts, with, with_ipam};

/// Runs the calls one after the other against one API that would serve every one of them.
fn table(rows: Vec<(Plugin, u64, &str)>) {
    let api = kind_api();
    for (plugin, code, message) in rows {
        let plugin = if plugin.variables["IPLEDGER_API_URL"].is_empty() {
            plugin.variable("IPLEDGER_API_URL", api.url())
        } else {
            plugin
        };
        let answer = plugin.run();
        let expected = (code, message.to_owned());
        assert_eq!(
            answer.failure(),
            expected,
            "{}",
            String::from_utf8_lossy(&plugin.stdin)
        );
        assert!(plugin.queued().is_empty());
    }
    assert!(api.requests().is_empty(), "{:?}", api.requests());
}

fn add() -> Plugin {
    Plugin::new("ADD", "")
}

fn ipam(keys: Value) -> Plugin {
    add().definition(&with_ipam(strict(), keys))
}

fn top(keys: Value) -> Plugin {
    add().definition(&with(strict(), keys))
}

fn lenient(keys: Value) -> Plugin {
    let definition = with_ipam(whereabouts(), json!({ "cluster": "prod" }));
    add().definition(&with_ipam(definition, keys))
}
