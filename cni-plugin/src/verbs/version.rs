use serde::Serialize;

use crate::CniVersion;

/// The versions that the plugin speaks, in one line as the reference skeleton prints them.
pub(super) fn output() -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Versions {
        cni_version: &'static str,
        supported_versions: [&'static str; 7],
    }
    let versions = Versions {
        cni_version: CniVersion::LATEST.as_str(),
        supported_versions: CniVersion::ALL.map(CniVersion::as_str),
    };
    let text = serde_json::to_string(&versions).expect("two text keys always encode");
    format!("{text}\n")
}
