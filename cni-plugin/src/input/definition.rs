use std::collections::HashMap;
use std::net::IpAddr;

use ipledger_client::types::AddressOrder;

use super::dns::dns;
use super::fixed::static_addresses;
use super::json::Repeated;
use super::period::{order, rest_seconds};
use super::range::{Range, check_gateway_family, ranges};
use super::requested::{Requested, requested};
use super::route::routes;
use super::{Arguments, Block, Mode, Network, keys};
use crate::error::{CniError, Code, KeyNames};
use crate::log::Log;
use crate::result::{AssignedIp, Dns, Route};

/// What an `ipam` block asks for.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) mode: Mode,
    pub(crate) ranges: Vec<Range>,
    pub(crate) network_name: Option<String>,
    pub(crate) enable_overlapping_ranges: bool,
    pub(crate) order: Option<AddressOrder>,
    pub(crate) cooldown_seconds: u32,
    pub(crate) sticky_seconds: u32,
    pub(crate) gateway: Option<IpAddr>,
    pub(crate) routes: Vec<Route>,
    pub(crate) dns: Dns,
    pub(crate) static_addresses: Vec<AssignedIp>,
    pub(crate) requested: Vec<Requested>,
    pub(crate) when_exhausted: WhenExhausted,
}

/// When STATUS reports that addresses are exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhenExhausted {
    /// If no range has a free address (the default: one full secondary range must not take a
    /// node down).
    All,
    /// If any range has none.
    Any,
    /// Not at all.
    Never,
}

impl Definition {
    pub(crate) fn read(
        network: &Network,
        block: &Block,
        arguments: &Arguments,
        mode: Mode,
        log: &Log<'_>,
    ) -> Result<Self, CniError> {
        check_repeated(network, block, mode, log)?;
        keys::check(block, mode, log)?;
        let mut ranges = ranges(block, mode, log)?;
        let requested = requested(network, arguments, mode, log)?;
        if ips_outside_window(block)? {
            for ip in &requested {
                ranges.iter_mut().any(|range| range.widen(ip.address));
            }
        }
        let gateway = gateway(block, mode, log)?;
        if let Some((gateway, key)) = &gateway {
            if mode == Mode::Strict {
                check_gateway_family(*gateway, key, &ranges)?;
            }
            ranges
                .iter_mut()
                .for_each(|range| range.keep_out(*gateway, key));
        }
        let definition = Self {
            mode,
            ranges,
            network_name: block
                .get("network_name")
                .map(|field| field.text())
                .transpose()?
                .map(str::to_owned),
            enable_overlapping_ranges: overlapping(block, log)?,
            order: order(block)?,
            cooldown_seconds: rest_seconds(block, "cooldown")?,
            sticky_seconds: rest_seconds(block, "sticky")?,
            gateway: gateway.map(|(gateway, _)| gateway),
            routes: routes(block)?,
            dns: dns(block, mode)?,
            static_addresses: static_addresses(block, arguments, mode)?,
            requested,
            when_exhausted: when_exhausted(block)?,
        };
        definition.check_version(network, log)?;
        Ok(definition)
    }

    /// 0.1.0 and 0.2.0 carry one address of each family. whereabouts counts only the static
    /// ones; more ranges than that it serves, and drops addresses on the way out.
    fn check_version(&self, network: &Network, log: &Log<'_>) -> Result<(), CniError> {
        if !network.version.has_one_address_per_family() {
            return Ok(());
        }
        let mut families: HashMap<bool, (usize, usize)> = HashMap::new();
        for ip in &self.static_addresses {
            families.entry(ip.address.is_ipv4()).or_default().0 += 1;
        }
        for family in self.ranges.iter().filter_map(Range::is_ipv4) {
            families.entry(family).or_default().1 += 1;
        }
        let too_many = |limit: &dyn Fn(&(usize, usize)) -> usize| {
            families.values().any(|counts| limit(counts) > 1)
        };
        let version = network.version;
        let message =
            format!("CNI version {version} does not support more than 1 address per family");
        let refused = match self.mode {
            Mode::Strict => too_many(&|(fixed, pool)| fixed + pool),
            Mode::Lenient => too_many(&|(fixed, _)| *fixed),
        };
        if refused {
            return Err(CniError::key(Code::InvalidConfig, "cniVersion", &message));
        }
        if too_many(&|(fixed, pool)| fixed + pool) {
            log.warn(format_args!(
                "{message}; only the first of each is in the result"
            ));
        }
        Ok(())
    }

    /// The gateway for an address: only one of its own family is any use.
    pub(crate) fn gateway_for(&self, address: IpAddr) -> Option<IpAddr> {
        self.gateway
            .filter(|gateway| gateway.is_ipv4() == address.is_ipv4())
    }

    /// Whether an address of an earlier result is one that the ranges hand out.
    pub(crate) fn hands_out(&self, address: IpAddr) -> bool {
        self.ranges.iter().any(|range| range.contains(address))
            && !self.static_addresses.iter().any(|ip| ip.address == address)
    }
}

impl KeyNames for Definition {
    fn user_key(&self, api_key: &str) -> Option<String> {
        let name = match api_key {
            "attachment.cluster" | "cluster" => "cluster",
            "cluster_uid" => "cluster_uid",
            "attachment.network" => "name",
            "attachment.container_id" => "CNI_CONTAINERID",
            "attachment.ifname" => "CNI_IFNAME",
            "owner.namespace" => "CNI_ARGS K8S_POD_NAMESPACE",
            "owner.name" => "CNI_ARGS K8S_POD_NAME",
            "owner.uid" => "CNI_ARGS K8S_POD_UID",
            "owner.node" => "node",
            "cooldown_seconds" => "cooldown",
            "sticky_seconds" => "sticky",
            "ranges" => "ipRanges",
            "ips" => self.list_of_requested()?,
            _ => return self.user_key_of_list(api_key),
        };
        Some(name.to_owned())
    }
}

impl Definition {
    /// Where the requested addresses stand.
    fn list_of_requested(&self) -> Option<&str> {
        let key = self.requested.first()?.key.as_str();
        Some(key.split_once('[').map_or(key, |(list, _)| list))
    }

    /// `ranges[1].range_start`, `ips[0]`.
    fn user_key_of_list(&self, api_key: &str) -> Option<String> {
        let (list, rest) = api_key.split_once('[')?;
        let (index, rest) = rest.split_once(']')?;
        let index = index.parse::<usize>().ok()?;
        match list {
            "ranges" => {
                let rest = rest.strip_prefix('.').unwrap_or("range");
                self.ranges.get(index)?.user_key(rest)
            }
            "ips" => Some(self.requested.get(index)?.key.clone()),
            _ => None,
        }
    }
}

fn gateway(block: &Block, mode: Mode, log: &Log<'_>) -> Result<Option<(IpAddr, String)>, CniError> {
    use super::address_text::{address, sloppy_address};
    let Some(field) = block.get("gateway") else {
        return Ok(None);
    };
    let parse = if mode == Mode::Lenient {
        sloppy_address
    } else {
        address
    };
    match parse(field.text()?) {
        Some(gateway) => Ok(Some((gateway, field.label()))),
        // In whereabouts this spelling sets the gateway by another way, which ignores mistakes.
        None if mode == Mode::Lenient && field.label().starts_with("Gateway") => {
            log.warn(format_args!(
                "{}; ignored",
                field.wrong("is not an IP address")
            ));
            Ok(None)
        }
        None => Err(field.wrong("is not an IP address")),
    }
}

/// whereabouts takes this key from the definition alone, so a flat file cannot change it.
fn overlapping(block: &Block, log: &Log<'_>) -> Result<bool, CniError> {
    const KEY: &str = "enable_overlapping_ranges";
    if let Some(field) = block.own_boolean(KEY) {
        return field.boolean();
    }
    if let Some(field) = block.in_file(KEY).filter(|field| field.value == false) {
        log.warn(format_args!(
            "{}",
            field.wrong("counts only in the definition itself; ignored")
        ));
    }
    Ok(true)
}

/// Whether fixed addresses may lie outside the window and among the excluded parts, though never
/// outside the network.
fn ips_outside_window(block: &Block) -> Result<bool, CniError> {
    block
        .get("ips_outside_window")
        .map_or(Ok(false), |field| field.boolean())
}

/// Of two spellings of one key whereabouts takes the last one; nobody can mean both.
fn check_repeated(
    network: &Network,
    block: &Block,
    mode: Mode,
    log: &Log<'_>,
) -> Result<(), CniError> {
    let file = block.file().into_iter();
    let in_file = file.flat_map(|file| {
        let place = format!(" (in {})", file.path.display());
        file.repeated
            .iter()
            .map(move |repeated| (repeated, place.clone()))
    });
    let own = network.repeated().map(|repeated| (repeated, String::new()));
    for (repeated, place) in own.chain(in_file) {
        let Repeated {
            object,
            first,
            last,
            value,
        } = repeated;
        let dot = if object.is_empty() { "" } else { "." };
        let key = format!("{object}{dot}{last}{place}");
        let why = format!("is a second value of one key, which stands before as \"{first}\"");
        let error = CniError::value(Code::UnsupportedField, &key, value, &why);
        match mode {
            Mode::Strict => return Err(error),
            Mode::Lenient => log.warn(format_args!("{error}; the last one counts")),
        }
    }
    Ok(())
}

fn when_exhausted(block: &Block) -> Result<WhenExhausted, CniError> {
    let Some(field) = block.get("status_when_exhausted") else {
        return Ok(WhenExhausted::All);
    };
    match field.text()? {
        "all" => Ok(WhenExhausted::All),
        "any" => Ok(WhenExhausted::Any),
        "never" => Ok(WhenExhausted::Never),
        _ => Err(field.wrong("is none of \"all\", \"any\" and \"never\"")),
    }
}

/// Keys of requests that carry no definition.
pub(crate) struct PlainKeys;

impl KeyNames for PlainKeys {
    fn user_key(&self, api_key: &str) -> Option<String> {
        let name = match api_key {
            "attachment.cluster" | "cluster" => "cluster",
            "cluster_uid" => "cluster_uid",
            "attachment.network" | "network" => "name",
            "attachment.container_id" | "container_id" => "CNI_CONTAINERID",
            "attachment.ifname" | "ifname" => "CNI_IFNAME",
            "node" | "owner.node" => "node",
            _ => return None,
        };
        Some(name.to_owned())
    }
}
