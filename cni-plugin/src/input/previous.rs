use std::net::IpAddr;

use super::Network;
use super::address_text::cidr;
use crate::error::CniError;

/// The addresses of `prevResult`, which CHECK compares with; `None` if there is no result.
pub(crate) fn previous_addresses(network: &Network) -> Result<Option<Vec<IpAddr>>, CniError> {
    let Some(result) = network.get("prevResult") else {
        return Ok(None);
    };
    let Some(ips) = result.child("ips")? else {
        return Ok(Some(Vec::new()));
    };
    let mut addresses = Vec::new();
    for ip in ips.list()? {
        let text = ip.required("address")?;
        let net = cidr(text.text()?).ok_or_else(|| text.wrong("is not a CIDR"))?;
        addresses.push(net.addr());
    }
    Ok(Some(addresses))
}
