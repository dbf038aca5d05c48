use std::io::Read;
use std::path::Path;

use ipledger_client::blocking::io_error_text;
use serde_json::{Map, Value};

use super::field::{Field, find};
use super::json::{self, Repeated};
use super::variables::is_cni_name;
use super::{Mode, Verb};
use crate::CniVersion;
use crate::error::{CniError, Code};

/// A GC list for thousands of attachments fits many times.
const MAX_STDIN: u64 = 4 * 1024 * 1024;

/// The network configuration on stdin: the whole one of the plugin that called us.
#[derive(Debug)]
pub(crate) struct Network {
    document: Map<String, Value>,
    /// `name`.
    pub(crate) name: String,
    /// `cniVersion`.
    pub(crate) version: CniVersion,
    /// Keys that stand twice.
    repeated: Vec<Repeated>,
}

/// Reads stdin to its end.
pub(crate) fn read_stdin(stdin: &mut dyn Read) -> Result<Vec<u8>, CniError> {
    let mut bytes = Vec::new();
    stdin
        .take(MAX_STDIN + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            CniError::new(
                Code::Io,
                format!("stdin: cannot be read: {}", io_error_text(&error)),
            )
        })?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(CniError::new(
            Code::Decode,
            "stdin: the configuration is larger than 4 MiB",
        ));
    }
    Ok(bytes)
}

/// Parses an object; `place` names where it stands. Tells which keys stand twice in it.
pub(crate) fn parse_object(
    bytes: &[u8],
    place: &str,
) -> Result<(Map<String, Value>, Vec<Repeated>), CniError> {
    if bytes.trim_ascii().is_empty() {
        return Err(CniError::new(
            Code::Decode,
            format!("{place}: is empty, not a JSON object"),
        ));
    }
    match json::parse(bytes) {
        Ok((Value::Object(map), repeated)) => Ok((map, repeated)),
        Ok((other, _)) => Err(CniError::value(
            Code::Decode,
            place,
            &other,
            "is no JSON object",
        )),
        Err(error) => Err(CniError::new(
            Code::Decode,
            format!("{place}: is not JSON: {error}"),
        )),
    }
}

impl Network {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, CniError> {
        let (document, repeated) = parse_object(bytes, "stdin")?;
        let mut network = Self {
            document,
            name: String::new(),
            version: CniVersion::V0_1_0,
            repeated,
        };
        network.name = network.read_name()?;
        network.version = network.read_version()?;
        Ok(network)
    }

    /// A key of the top level.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'_>> {
        find(&self.document, key).map(|(name, value)| Field::new(name, None, value))
    }

    /// A key of the top level in its exact spelling; `null` is there, too.
    pub(crate) fn raw(&self, key: &str) -> Option<&Value> {
        self.document.get(key)
    }

    /// Keys of the definition that stand twice. What lies in the runtime's own objects is no
    /// user's slip.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = &Repeated> {
        self.repeated.iter().filter(|repeated| {
            let top = repeated.object.split('.').next().unwrap_or_default();
            top.is_empty() || top.eq_ignore_ascii_case("ipam")
        })
    }

    /// The `ipam` object; empty if there is none.
    pub(crate) fn ipam(&self) -> Result<Map<String, Value>, CniError> {
        self.get("ipam")
            .map_or_else(|| Ok(Map::new()), |field| field.object().cloned())
    }

    /// Which of the two languages the `ipam` object is written in.
    pub(crate) fn mode(&self) -> Result<Mode, CniError> {
        let Some(ipam) = self.get("ipam") else {
            return Err(CniError::key(
                Code::InvalidConfig,
                "ipam",
                "is missing (IPAM config missing 'ipam' key)",
            ));
        };
        let kind = ipam.required("type")?;
        match kind.text()? {
            "ipledger" => Ok(Mode::Strict),
            "whereabouts" => Ok(Mode::Lenient),
            _ => Err(kind.wrong("is another plugin; this one serves ipledger and whereabouts")),
        }
    }

    /// CHECK, GC and STATUS came with later versions of the specification.
    pub(crate) fn check_verb(&self, verb: Verb) -> Result<(), CniError> {
        let since = match verb {
            Verb::Check => CniVersion::V0_4_0,
            Verb::Gc | Verb::Status => CniVersion::V1_1_0,
            Verb::Add | Verb::Del | Verb::Version => return Ok(()),
        };
        if self.version >= since {
            return Ok(());
        }
        let why = format!("does not allow {} (it came with {since})", verb.as_str());
        let value = Value::from(self.version.as_str());
        Err(CniError::value(
            Code::IncompatibleVersion,
            "cniVersion",
            &value,
            &why,
        ))
    }

    fn read_name(&self) -> Result<String, CniError> {
        let field = self.get("name").filter(|field| field.value != "");
        let Some(field) = field else {
            return Err(CniError::key(
                Code::InvalidConfig,
                "name",
                "missing network name",
            ));
        };
        let name = field.text()?;
        if !is_cni_name(name) {
            return Err(field.wrong(
                "has invalid characters (a letter or digit first, then also \"_\", \".\" and \
                 \"-\")",
            ));
        }
        Ok(name.to_owned())
    }

    fn read_version(&self) -> Result<CniVersion, CniError> {
        let Some(field) = self.get("cniVersion") else {
            return Ok(CniVersion::V0_1_0);
        };
        CniVersion::parse(field.text()?).ok_or_else(|| {
            let supported = CniVersion::ALL.map(CniVersion::as_str).join(", ");
            let why = format!("is not supported; this plugin speaks {supported}");
            CniError::value(Code::IncompatibleVersion, "cniVersion", field.value, &why)
        })
    }
}

/// The version to answer errors in, if the input says one that we speak.
pub(crate) fn version_for_errors(bytes: &[u8]) -> CniVersion {
    let document = serde_json::from_slice(bytes).ok();
    let version = document.as_ref().and_then(|map| find(map, "cniVersion"));
    version
        .and_then(|(_, value)| CniVersion::parse(value.as_str()?))
        .unwrap_or(CniVersion::LATEST)
}

/// Parses a flat file: an `ipam` object at top level.
pub(crate) fn parse_flat_file(
    bytes: &[u8],
    path: &Path,
) -> Result<(Map<String, Value>, Vec<Repeated>), CniError> {
    parse_object(bytes, &path.display().to_string())
}
