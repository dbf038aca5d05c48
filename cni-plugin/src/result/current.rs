//! 1.0.0 and 1.1.0: no `version` per address, no empty `dns`, keys sorted.

use serde::Serialize;

use super::{Assignment, pretty, text, zero};
use crate::CniVersion;

#[derive(Serialize)]
struct Result<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<Dns<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ips: Vec<Ip>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<Route>,
}

#[derive(Serialize)]
struct Ip {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<String>,
}

#[derive(Serialize)]
struct Route {
    #[serde(skip_serializing_if = "zero")]
    advmss: i64,
    dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gw: Option<String>,
    #[serde(skip_serializing_if = "zero")]
    mtu: i64,
    #[serde(skip_serializing_if = "zero")]
    priority: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    table: Option<i64>,
}

#[derive(Serialize)]
struct Dns<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    domain: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nameservers: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    options: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    search: &'a [String],
}

pub(super) fn render(assignment: &Assignment, version: CniVersion) -> String {
    let super::Dns {
        nameservers,
        domain,
        search,
        options,
    } = &assignment.dns;
    pretty(&Result {
        cni_version: version.as_str(),
        dns: (!assignment.dns.is_empty()).then_some(Dns {
            domain,
            nameservers,
            options,
            search,
        }),
        ips: assignment
            .ips
            .iter()
            .map(|ip| Ip {
                address: ip.cidr(),
                gateway: text(ip.gateway),
            })
            .collect(),
        routes: assignment
            .routes
            .iter()
            .map(|route| Route {
                advmss: route.advmss,
                dst: route.dst_text(),
                gw: text(route.gw),
                mtu: route.mtu,
                priority: route.priority,
                scope: route.scope,
                table: route.table,
            })
            .collect(),
    })
}
