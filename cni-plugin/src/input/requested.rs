use std::net::IpAddr;

use serde_json::Value;

use super::address_text::{address, cidr};
use super::{Arguments, Mode, Network};
use crate::error::{CniError, Code};
use crate::log::Log;

/// An address that the pod asks for, and where it does so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Requested {
    pub(crate) address: IpAddr,
    pub(crate) key: String,
}

/// The requested addresses: `runtimeConfig.ips` if the configuration declares the capability,
/// else `args.cni.ips`, else `IP` of `CNI_ARGS` (which means something else to whereabouts).
pub(crate) fn requested(
    network: &Network,
    arguments: &Arguments,
    mode: Mode,
    log: &Log<'_>,
) -> Result<Vec<Requested>, CniError> {
    refuse_ranges(network, mode, log)?;
    let wanted = texts(network, &["runtimeConfig", "ips"])?;
    if !wanted.is_empty() && !declares_ips(network)? {
        log.warn("runtimeConfig.ips is ignored: the configuration declares no capability \"ips\"");
    } else if !wanted.is_empty() {
        return wanted.iter().map(parse).collect();
    }
    let wanted = texts(network, &["args", "cni", "ips"])?;
    if !wanted.is_empty() {
        return wanted.iter().map(parse).collect();
    }
    let ip = arguments.ip.as_ref().filter(|_| mode == Mode::Strict);
    let parts = ip.into_iter().flat_map(|list| list.split(','));
    parts
        .map(|part| parse(&("CNI_ARGS IP".to_owned(), part.trim().to_owned())))
        .collect()
}

/// Ranges of the runtime would choose other addresses than the definition says. whereabouts does
/// not look at them.
fn refuse_ranges(network: &Network, mode: Mode, log: &Log<'_>) -> Result<(), CniError> {
    let Some(config) = network.get("runtimeConfig") else {
        return Ok(());
    };
    let ranges = config.child("ipRanges")?;
    let Some(ranges) = ranges.filter(|ranges| *ranges.value != Value::from(Vec::<Value>::new()))
    else {
        return Ok(());
    };
    let error = CniError::value(
        Code::UnsupportedField,
        &ranges.label(),
        ranges.value,
        "is not served; write the ranges into the definition (range, ipRanges) and take the \
         capability \"ipRanges\" out of it",
    );
    match mode {
        Mode::Strict => Err(error),
        Mode::Lenient => {
            log.warn(format_args!("{error}; ignored, as whereabouts does"));
            Ok(())
        }
    }
}

fn declares_ips(network: &Network) -> Result<bool, CniError> {
    let Some(capabilities) = network.get("capabilities") else {
        return Ok(false);
    };
    capabilities
        .child("ips")?
        .map_or(Ok(false), |field| field.boolean())
}

/// The strings of a list below the top level, with their keys.
fn texts(network: &Network, path: &[&str]) -> Result<Vec<(String, String)>, CniError> {
    let mut field = network.get(path[0]);
    for key in &path[1..] {
        field = match field {
            Some(parent) => parent.child(key)?,
            None => None,
        };
    }
    let Some(list) = field else {
        return Ok(Vec::new());
    };
    list.list()?
        .iter()
        .map(|item| Ok((item.label(), item.text()?.to_owned())))
        .collect()
}

/// With or without a prefix length; the one of the range counts.
fn parse((key, text): &(String, String)) -> Result<Requested, CniError> {
    let parsed = address(text).or_else(|| cidr(text).map(|net| net.addr()));
    let Some(address) = parsed else {
        let in_arguments = key.starts_with("CNI_ARGS");
        let code = if in_arguments {
            Code::InvalidEnvironment
        } else {
            Code::InvalidConfig
        };
        let why = "is neither an IP address nor one with its /length";
        return Err(CniError::value(code, key, &Value::from(text.as_str()), why));
    };
    Ok(Requested {
        address,
        key: key.clone(),
    })
}
