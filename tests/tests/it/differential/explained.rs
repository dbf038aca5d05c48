//! Whether a difference in a case of the generator is one of those that its features bring.

use e2e::differential::answer::{Answer, Class};
use e2e::differential::case::Case;
use serde_json::Value;

/// Judges the first step where the two differ: the later ones may follow from it.
pub(super) fn explained(case: &Case, theirs: &[Answer], ours: &[Answer]) -> bool {
    let Some(at) = theirs.iter().zip(ours).position(|(a, b)| a != b) else {
        return true;
    };
    let earlier = &theirs[..=at];
    let (theirs, ours) = (&theirs[at], &ours[at]);
    case.differs.iter().any(|id| match id.as_str() {
        "C-01" => gateway_lies_in_a_range(case),
        "C-03" => without_foreign_gateways(theirs) == without_foreign_gateways(ours),
        "C-12" => earlier
            .iter()
            .any(|answer| answer.class == Class::Exhausted),
        "C-14" => (theirs.class, ours.class) == (Class::Exhausted, Class::Config),
        _ => false,
    })
}

/// The generator's networks of IPv4 are 10.0.<index>.0, its gateways 10.0.0.1 and 10.0.0.254.
fn gateway_lies_in_a_range(case: &Case) -> bool {
    let starts = |key: &str, starts: &[&str]| {
        let text = case.ipam[key].as_str().unwrap_or_default();
        starts.iter().any(|start| text.starts_with(start))
    };
    starts("gateway", &["10.0.0."]) && starts("range", &["10.0.0.", "010.000.000."])
}

/// The result without gateways of another family than their address.
fn without_foreign_gateways(answer: &Answer) -> Option<Value> {
    let mut result = answer.result.clone()?;
    let is_v6 = |ip: &Value, key: &str| ip[key].as_str().map(|text| text.contains(':'));
    let clean = |ip: &mut Value| {
        let family = is_v6(ip, "address").or_else(|| is_v6(ip, "ip"));
        if is_v6(ip, "gateway") != family
            && let Some(ip) = ip.as_object_mut()
        {
            ip.remove("gateway");
        }
    };
    if let Some(ips) = result["ips"].as_array_mut() {
        ips.iter_mut().for_each(clean);
    }
    for family in ["ip4", "ip6"] {
        if let Some(ip) = result.get_mut(family) {
            clean(ip);
        }
    }
    Some(result)
}
