//! 0.1.0 and 0.2.0: `ip4` and `ip6` with the first address of each family; routes go to the
//! family of their destination and keep only that and the next hop.

use serde::Serialize;

use super::legacy::Dns;
use super::{Assignment, pretty, text};
use crate::CniVersion;

#[derive(Serialize)]
struct Result<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip4: Option<Ip>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip6: Option<Ip>,
    dns: Dns<'a>,
}

#[derive(Serialize)]
struct Ip {
    ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

#[derive(Serialize)]
struct Route {
    dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gw: Option<String>,
}

pub(super) fn render(assignment: &Assignment, version: CniVersion) -> String {
    pretty(&Result {
        cni_version: version.as_str(),
        ip4: family(assignment, true),
        ip6: family(assignment, false),
        dns: (&assignment.dns).into(),
    })
}

fn family(assignment: &Assignment, ipv4: bool) -> Option<Ip> {
    let ip = assignment
        .ips
        .iter()
        .find(|ip| ip.address.is_ipv4() == ipv4)?;
    let routes = assignment
        .routes
        .iter()
        .filter(|route| route.dst.0.is_ipv4() == ipv4);
    Some(Ip {
        ip: ip.cidr(),
        gateway: text(ip.gateway),
        routes: routes
            .map(|route| Route {
                dst: route.dst_text(),
                gw: text(route.gw),
            })
            .collect(),
    })
}
