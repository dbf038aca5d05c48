use super::{Block, Field, Mode};
use crate::error::CniError;
use crate::result::Dns;

/// `dns`, which is handed on as it is.
pub(crate) fn dns(block: &Block, mode: Mode) -> Result<Dns, CniError> {
    let list = |key: &str| match block.get_in("dns", key)? {
        None => Ok(Vec::new()),
        Some(field) => field.list()?.iter().map(|item| text(item, mode)).collect(),
    };
    let domain = block.get_in("dns", "domain")?;
    Ok(Dns {
        nameservers: list("nameservers")?,
        domain: domain.map_or(Ok(""), |field| field.text())?.to_owned(),
        search: list("search")?,
        options: list("options")?,
    })
}

/// In a list of texts Go reads `null` as the empty text.
fn text(item: &Field<'_>, mode: Mode) -> Result<String, CniError> {
    if mode == Mode::Lenient && item.value.is_null() {
        return Ok(String::new());
    }
    item.text().map(str::to_owned)
}
