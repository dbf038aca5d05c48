use std::net::IpAddr;

use serde_json::Value;

use super::address_text::{address, cidr, sloppy_address, sloppy_cidr};
use super::{Arguments, Block, Field, Mode};
use crate::error::{CniError, Code};
use crate::result::AssignedIp;

/// Static addresses, which no ledger knows: `addresses`, and in whereabouts' language also
/// `IP` and `GATEWAY` of `CNI_ARGS`.
pub(crate) fn static_addresses(
    block: &Block,
    arguments: &Arguments,
    mode: Mode,
) -> Result<Vec<AssignedIp>, CniError> {
    let mut all = match block.get("addresses") {
        None => Vec::new(),
        Some(field) => field
            .list()?
            .iter()
            .map(|item| static_address(item, mode))
            .collect::<Result<_, _>>()?,
    };
    if mode == Mode::Lenient {
        add_arguments(&mut all, arguments)?;
    }
    Ok(all)
}

fn static_address(field: &Field<'_>, mode: Mode) -> Result<AssignedIp, CniError> {
    let text = field.required("address")?;
    let parse = if mode == Mode::Lenient {
        sloppy_cidr
    } else {
        cidr
    };
    let net =
        parse(text.text()?).ok_or_else(|| text.wrong("is not an address with its /length"))?;
    let gateway = match field
        .child("gateway")?
        .filter(|gateway| gateway.value != "")
    {
        None => None,
        Some(gw) => Some(address(gw.text()?).ok_or_else(|| gw.wrong("is not an IP address"))?),
    };
    Ok(AssignedIp {
        address: net.addr(),
        prefix_length: net.prefix_len(),
        gateway,
    })
}

fn add_arguments(all: &mut Vec<AssignedIp>, arguments: &Arguments) -> Result<(), CniError> {
    let wrong = |key: &str, text: &str, why: &str| {
        CniError::value(Code::InvalidEnvironment, key, &Value::from(text), why)
    };
    for text in arguments
        .ip
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
    {
        let net = sloppy_cidr(text)
            .ok_or_else(|| wrong("CNI_ARGS IP", text, "is not an address with its /length"))?;
        let (address, prefix_length) = (net.addr(), net.prefix_len());
        all.push(AssignedIp {
            address,
            prefix_length,
            gateway: None,
        });
    }
    for text in arguments
        .gateway
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
    {
        let gateway = sloppy_address(text)
            .ok_or_else(|| wrong("CNI_ARGS GATEWAY", text, "is not an IP address"))?;
        for ip in all.iter_mut().filter(|ip| subnet_contains(ip, gateway)) {
            ip.gateway = Some(gateway);
        }
    }
    Ok(())
}

fn subnet_contains(ip: &AssignedIp, gateway: IpAddr) -> bool {
    ipnet::IpNet::new(ip.address, ip.prefix_length).is_ok_and(|net| net.contains(&gateway))
}
