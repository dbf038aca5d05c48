use super::address_text::{address, cidr};
use super::{Block, Field};
use crate::error::CniError;
use crate::result::Route;

/// `routes`, which are handed on as they are.
pub(crate) fn routes(block: &Block) -> Result<Vec<Route>, CniError> {
    let Some(field) = block.get("routes") else {
        return Ok(Vec::new());
    };
    field.list()?.iter().map(route).collect()
}

fn route(field: &Field<'_>) -> Result<Route, CniError> {
    let number = |key: &str| field.child(key)?.map(|child| child.integer()).transpose();
    let dst = field.required("dst")?;
    let net = cidr(dst.text()?).ok_or_else(|| dst.wrong("is not a CIDR"))?;
    let gw = match field.child("gw")?.filter(|gw| gw.value != "") {
        None => None,
        Some(gw) => Some(address(gw.text()?).ok_or_else(|| gw.wrong("is not an IP address"))?),
    };
    Ok(Route {
        dst: (net.addr(), net.prefix_len()),
        gw,
        mtu: number("mtu")?.unwrap_or(0),
        advmss: number("advmss")?.unwrap_or(0),
        priority: number("priority")?.unwrap_or(0),
        table: number("table")?,
        scope: number("scope")?,
    })
}
