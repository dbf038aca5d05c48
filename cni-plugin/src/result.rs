//! The result of an ADD, in the shape of the requested version. Keys stand in the order in which
//! the reference implementation prints them, so that texts can be compared.

mod current;
mod legacy;
mod oldest;

use std::net::IpAddr;

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use crate::CniVersion;
use crate::error::{CniError, Code};

/// What an ADD hands to the plugin that called it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Assignment {
    /// Addresses of the ranges in their order, then the static ones.
    pub ips: Vec<AssignedIp>,
    /// Routes, as the user wrote them.
    pub routes: Vec<Route>,
    /// DNS, as the user wrote it.
    pub dns: Dns,
}

/// One address for the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedIp {
    /// The address.
    pub address: IpAddr,
    /// The prefix length of its subnet.
    pub prefix_length: u8,
    /// The gateway of its family, if any.
    pub gateway: Option<IpAddr>,
}

impl AssignedIp {
    fn cidr(&self) -> String {
        format!("{}/{}", self.address, self.prefix_length)
    }
}

/// One route. The last five fields came with CNI 1.1.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination, an address with its prefix length (host bits are kept).
    pub dst: (IpAddr, u8),
    /// Next hop; without it the gateway of the address may be used.
    pub gw: Option<IpAddr>,
    /// MTU in bytes; 0 is absent.
    pub mtu: i64,
    /// Advertised MSS in bytes; 0 is absent.
    pub advmss: i64,
    /// Metric; 0 is absent.
    pub priority: i64,
    /// Routing table.
    pub table: Option<i64>,
    /// Scope.
    pub scope: Option<i64>,
}

impl Route {
    fn dst_text(&self) -> String {
        format!("{}/{}", self.dst.0, self.dst.1)
    }
}

/// What the resolver of the pod should use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dns {
    /// Name servers, in order.
    pub nameservers: Vec<String>,
    /// The local domain.
    pub domain: String,
    /// Search list, in order.
    pub search: Vec<String>,
    /// Resolver options.
    pub options: Vec<String>,
}

impl Dns {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Assignment {
    /// The JSON object for stdout.
    ///
    /// # Errors
    /// Versions 0.1.0 and 0.2.0 have no shape for a result without an address (code 7).
    pub fn render(&self, version: CniVersion) -> Result<String, CniError> {
        match version {
            CniVersion::V0_1_0 | CniVersion::V0_2_0 if self.ips.is_empty() => Err(CniError::new(
                Code::InvalidConfig,
                format!("cannot convert to cniVersion {version}: no valid IP addresses"),
            )),
            CniVersion::V0_1_0 | CniVersion::V0_2_0 => Ok(oldest::render(self, version)),
            CniVersion::V0_3_0 | CniVersion::V0_3_1 | CniVersion::V0_4_0 => {
                Ok(legacy::render(self, version))
            }
            CniVersion::V1_0_0 | CniVersion::V1_1_0 => Ok(current::render(self, version)),
        }
    }
}

/// Indented by four spaces, without a final newline: what the reference plugins print.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(b"    ");
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        .expect("the types of the protocol have only text keys, so they always encode");
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

fn zero(number: &i64) -> bool {
    *number == 0
}

fn text(address: Option<IpAddr>) -> Option<String> {
    address.map(|address| address.to_string())
}
