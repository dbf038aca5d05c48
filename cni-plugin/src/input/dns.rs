use super::Block;
use crate::error::CniError;
use crate::result::Dns;

/// `dns`, which is handed on as it is.
pub(crate) fn dns(block: &Block) -> Result<Dns, CniError> {
    let list = |key: &str| {
        let field = block.get_in("dns", key)?;
        field.map_or_else(|| Ok(Vec::new()), |field| field.texts())
    };
    let domain = block.get_in("dns", "domain")?;
    Ok(Dns {
        nameservers: list("nameservers")?,
        domain: domain.map_or(Ok(""), |field| field.text())?.to_owned(),
        search: list("search")?,
        options: list("options")?,
    })
}
