//! Checklist section 7: VERSION.

use serde_json::json;

use crate::api::nobody;
use crate::plugin::Plugin;

#[test]
fn v1_v2_v4_the_versions_are_printed_whatever_stdin_says() {
    for stdin in ["", "{\"cniVersion\":\"0.4.0\"}", "garbage"] {
        let mut plugin = Plugin::new("VERSION", &nobody()).stdin(stdin);
        for name in [
            "CNI_CONTAINERID",
            "CNI_IFNAME",
            "CNI_NETNS",
            "CNI_PATH",
            "CNI_ARGS",
        ] {
            plugin = plugin.without(name);
        }
        let answer = plugin.run();
        assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
        assert_eq!(
            answer.json(),
            json!({ "cniVersion": "1.1.0", "supportedVersions":
                ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] })
        );
    }
}

#[test]
fn v3_every_listed_command_has_a_real_handler() {
    // With an API that is away, a handler that did nothing would succeed.
    let definition = crate::plugin::with(
        crate::plugin::with_ipam(crate::plugin::strict(), json!({ "timeout_seconds": 1 })),
        json!({ "cniVersion": "1.1.0", "cni.dev/valid-attachments": [] }),
    );
    for command in ["CHECK", "STATUS", "GC"] {
        let answer = Plugin::new(command, &nobody())
            .definition(&definition)
            .run();
        assert_eq!(answer.status, 1, "{command}");
    }
}
