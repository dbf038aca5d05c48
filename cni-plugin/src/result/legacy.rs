//! 0.3.0, 0.3.1 and 0.4.0: `version` per address, `dns` always present.

use serde::Serialize;

use super::{Assignment, pretty, text, zero};
use crate::CniVersion;

#[derive(Serialize)]
struct Result<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ips: Vec<Ip>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
    dns: Dns<'a>,
}

#[derive(Serialize)]
struct Ip {
    version: &'static str,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
}

#[derive(Serialize)]
struct Route {
    dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gw: Option<String>,
    #[serde(skip_serializing_if = "zero")]
    mtu: i64,
    #[serde(skip_serializing_if = "zero")]
    advmss: i64,
    #[serde(skip_serializing_if = "zero")]
    priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<i64>,
}

/// Also the `dns` of 0.1.0 and 0.2.0.
#[derive(Serialize)]
pub(super) struct Dns<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nameservers: &'a [String],
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    search: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    options: &'a [String],
}

impl<'a> From<&'a super::Dns> for Dns<'a> {
    fn from(dns: &'a super::Dns) -> Self {
        let super::Dns {
            nameservers,
            domain,
            search,
            options,
        } = dns;
        Dns {
            nameservers,
            domain,
            search,
            options,
        }
    }
}

pub(super) fn render(assignment: &Assignment, version: CniVersion) -> String {
    pretty(&Result {
        cni_version: version.as_str(),
        ips: assignment
            .ips
            .iter()
            .map(|ip| Ip {
                version: if ip.address.is_ipv4() { "4" } else { "6" },
                address: ip.cidr(),
                gateway: text(ip.gateway),
            })
            .collect(),
        routes: assignment
            .routes
            .iter()
            .map(|route| Route {
                dst: route.dst_text(),
                gw: text(route.gw),
                mtu: route.mtu,
                advmss: route.advmss,
                priority: route.priority,
                table: route.table,
                scope: route.scope,
            })
            .collect(),
        dns: (&assignment.dns).into(),
    })
}
