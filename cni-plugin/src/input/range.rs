use std::net::IpAddr;

use ipledger_client::types::RangeRequest;
use ipnet::IpNet;

use super::address_text::{address, cidr, usable};
use super::{Block, Field, Mode, lenient};
use crate::error::{CniError, Code};
use crate::log::Log;

/// One range of the request, and what its parts are called by whoever wrote them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) request: RangeRequest,
    pub(crate) keys: RangeKeys,
}

/// The user's names for the keys of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RangeKeys {
    pub(crate) range: String,
    pub(crate) start: String,
    pub(crate) end: String,
    /// One for each excluded part.
    pub(crate) exclude: Vec<String>,
}

/// A range as it was written.
pub(crate) struct Written<'a> {
    pub(crate) range: Field<'a>,
    pub(crate) start: Option<Field<'a>>,
    pub(crate) end: Option<Field<'a>>,
    pub(crate) exclude: Vec<Field<'a>>,
    /// The range of the top level, about which whereabouts is less strict.
    pub(crate) top: bool,
}

/// The range of the top level first, then those of `ipRanges`.
pub(crate) fn ranges(block: &Block, mode: Mode, log: &Log<'_>) -> Result<Vec<Range>, CniError> {
    let mut written = Vec::new();
    match block.get("range") {
        Some(range) => written.push(Written {
            range,
            start: block.get("range_start"),
            end: block.get("range_end"),
            exclude: block
                .get("exclude")
                .map_or_else(|| Ok(Vec::new()), |field| field.list())?,
            top: true,
        }),
        None => without_range(block, mode, log)?,
    }
    if let Some(list) = block.get("ipRanges") {
        for item in list.list()? {
            written.push(element(&item)?);
        }
    }
    written
        .iter()
        .map(|written| match mode {
            Mode::Strict => verbatim(written),
            Mode::Lenient => lenient::normalise(written, log),
        })
        .collect()
}

/// Parts of a window without the range that they belong to.
fn without_range(block: &Block, mode: Mode, log: &Log<'_>) -> Result<(), CniError> {
    for key in ["range_start", "range_end", "exclude"] {
        let Some(field) = block.get(key) else {
            continue;
        };
        let error = field.wrong("belongs to \"range\", which is missing");
        match mode {
            Mode::Strict => return Err(error),
            Mode::Lenient => log.warn(format_args!("{error}; ignored")),
        }
    }
    Ok(())
}

fn element<'a>(item: &Field<'a>) -> Result<Written<'a>, CniError> {
    let text = |key: &str| Ok::<_, CniError>(item.child(key)?.filter(|field| field.value != ""));
    let exclude = item.child("exclude")?;
    Ok(Written {
        range: item.required("range")?,
        start: text("range_start")?,
        end: text("range_end")?,
        exclude: exclude.map_or_else(|| Ok(Vec::new()), |field| field.list())?,
        top: false,
    })
}

/// As it stands: the API reads ranges strictly, and its answer names our key.
fn verbatim(written: &Written<'_>) -> Result<Range, CniError> {
    let text = |field: &Option<Field<'_>>| {
        field
            .as_ref()
            .map(|field| field.text().map(str::to_owned))
            .transpose()
    };
    let request = RangeRequest {
        range: written.range.text()?.to_owned(),
        range_start: text(&written.start)?,
        range_end: text(&written.end)?,
        exclude: written
            .exclude
            .iter()
            .map(|field| field.text().map(str::to_owned))
            .collect::<Result<_, _>>()?,
    };
    let keys = written.keys(written.exclude.iter().map(Field::label).collect());
    Ok(Range { request, keys })
}

impl Written<'_> {
    /// The user's names. A part that is not there is named after its range.
    pub(crate) fn keys(&self, exclude: Vec<String>) -> RangeKeys {
        let label = |field: &Option<Field<'_>>| field.as_ref().unwrap_or(&self.range).label();
        RangeKeys {
            range: self.range.label(),
            start: label(&self.start),
            end: label(&self.end),
            exclude,
        }
    }
}

impl Range {
    /// Network, first and last address, as far as they can be read.
    fn bounds(&self) -> Option<(IpNet, IpAddr, IpAddr)> {
        let RangeRequest {
            range,
            range_start,
            range_end,
            ..
        } = &self.request;
        let (net, start, end) = match range.split_once('-') {
            Some((start, rest)) => {
                let net = cidr(rest)?;
                (net, Some(address(start)?), Some(net.addr()))
            }
            None => (cidr(range)?, None, None),
        };
        let (first, last) = usable(&net);
        let read = |text: &Option<String>| text.as_deref().map(address);
        let start = start.or(read(range_start).unwrap_or(Some(first)))?;
        let end = end.or(read(range_end).unwrap_or(Some(last)))?;
        Some((net, start, end))
    }

    /// The family of its addresses, if it can be read.
    pub(crate) fn is_ipv4(&self) -> Option<bool> {
        self.bounds().map(|(net, ..)| net.addr().is_ipv4())
    }

    /// Whether the address lies in its network.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.bounds()
            .is_some_and(|(net, ..)| net.contains(&address))
    }

    /// Keeps the gateway from being handed out: two hosts would answer for it.
    pub(crate) fn keep_out(&mut self, gateway: IpAddr, key: &str) {
        let Some((net, first, last)) = self.bounds() else {
            return;
        };
        let excluded = |part: &String| cidr(part).is_some_and(|part| part.contains(&gateway));
        let inside = net.contains(&gateway) && first <= gateway && gateway <= last;
        if inside && !self.request.exclude.iter().any(excluded) {
            self.request.exclude.push(gateway.to_string());
            self.keys.exclude.push(key.to_owned());
        }
    }

    /// Lets a fixed address be given that lies in the network but not in the window: the whole
    /// network is asked for instead.
    pub(crate) fn widen(&mut self, address: IpAddr) -> bool {
        let Some((net, ..)) = self.bounds().filter(|(net, ..)| net.contains(&address)) else {
            return false;
        };
        self.request = RangeRequest {
            range: net.trunc().to_string(),
            ..RangeRequest::default()
        };
        self.keys.exclude.clear();
        true
    }

    /// The user's name for a key below `ranges[i].`.
    pub(crate) fn user_key(&self, api_key: &str) -> Option<String> {
        match api_key {
            "range" => return Some(self.keys.range.clone()),
            "range_start" => return Some(self.keys.start.clone()),
            "range_end" => return Some(self.keys.end.clone()),
            "exclude" => return Some(self.keys.exclude.first()?.clone()),
            _ => {}
        }
        let index = api_key.strip_prefix("exclude[")?.strip_suffix(']')?;
        self.keys.exclude.get(index.parse::<usize>().ok()?).cloned()
    }
}

/// A gateway that no address of the definition could use.
pub(crate) fn check_gateway_family(
    gateway: IpAddr,
    key: &str,
    ranges: &[Range],
) -> Result<(), CniError> {
    let families: Vec<_> = ranges.iter().filter_map(Range::is_ipv4).collect();
    if families.is_empty() || families.len() < ranges.len() || families.contains(&gateway.is_ipv4())
    {
        return Ok(());
    }
    let why = "is of a family that no range has";
    let value = serde_json::Value::from(gateway.to_string());
    Err(CniError::value(Code::InvalidConfig, key, &value, why))
}
