//! The keys that a definition may have, and the kind of value of each.

mod misspelling;

use serde_json::Value;

use super::{Block, Field, Mode};
use crate::error::CniError;
use crate::log::Log;
use misspelling::misspelled;

/// What a value must be. Whatever reads the key says more.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Boolean,
    List,
    Object,
    /// A string or a list of strings.
    TextOrList,
    /// A number of seconds, or a string with a unit.
    Duration,
}

type Known = &'static [(&'static str, Kind)];

/// Every key that an `ipam` object or a flat file may have: whereabouts' and ours.
const KNOWN: Known = &[
    ("type", Kind::Text),
    ("range", Kind::Text),
    ("range_start", Kind::Text),
    ("range_end", Kind::Text),
    ("exclude", Kind::List),
    ("ipRanges", Kind::List),
    ("gateway", Kind::Text),
    ("routes", Kind::List),
    ("dns", Kind::Object),
    ("addresses", Kind::List),
    ("enable_overlapping_ranges", Kind::Boolean),
    ("network_name", Kind::Text),
    ("node_slice_size", Kind::Text),
    ("kubernetes", Kind::Object),
    ("configuration_path", Kind::Text),
    ("leader_lease_duration", Kind::Number),
    ("leader_renew_deadline", Kind::Number),
    ("leader_retry_period", Kind::Number),
    ("log_file", Kind::Text),
    ("log_level", Kind::Text),
    ("reconciler_cron_expression", Kind::Text),
    ("sleep_for_race", Kind::Number),
    ("datastore", Kind::Text),
    ("etcd_host", Kind::Text),
    ("etcd_username", Kind::Text),
    ("etcd_password", Kind::Text),
    ("etcd_key_file", Kind::Text),
    ("etcd_cert_file", Kind::Text),
    ("etcd_ca_cert_file", Kind::Text),
    ("Name", Kind::Text),
    ("PodName", Kind::Text),
    ("PodNamespace", Kind::Text),
    ("api", Kind::TextOrList),
    ("cluster", Kind::Text),
    ("cluster_uid", Kind::Text),
    ("token_file", Kind::Text),
    ("queue_dir", Kind::Text),
    ("timeout_seconds", Kind::Number),
    ("node", Kind::Text),
    ("order", Kind::Text),
    ("cooldown", Kind::Duration),
    ("sticky", Kind::Duration),
    ("status_when_exhausted", Kind::Text),
    ("ips_outside_window", Kind::Boolean),
];

/// The keys of the elements of a list, or of an object.
const KNOWN_BELOW: &[(&str, Known)] = &[
    (
        "ipRanges",
        &[
            ("range", Kind::Text),
            ("range_start", Kind::Text),
            ("range_end", Kind::Text),
            ("exclude", Kind::List),
        ],
    ),
    (
        "routes",
        &[
            ("dst", Kind::Text),
            ("gw", Kind::Text),
            ("mtu", Kind::Number),
            ("advmss", Kind::Number),
            ("priority", Kind::Number),
            ("table", Kind::Number),
            ("scope", Kind::Number),
        ],
    ),
    (
        "addresses",
        &[("address", Kind::Text), ("gateway", Kind::Text)],
    ),
    (
        "dns",
        &[
            ("nameservers", Kind::List),
            ("domain", Kind::Text),
            ("search", Kind::List),
            ("options", Kind::List),
        ],
    ),
    (
        "kubernetes",
        &[("kubeconfig", Kind::Text), ("k8s_api_root", Kind::Text)],
    ),
];

/// Looks at the names and the kinds of all keys, also of those without an effect: a value of a
/// wrong kind is refused, as whereabouts does, and so is in a strict definition a key that looks
/// like a slip. Other unknown keys are left to whoever knows them.
pub(crate) fn check(block: &Block, mode: Mode, log: &Log<'_>) -> Result<(), CniError> {
    let checker = Checker { mode, log };
    block
        .every_key()
        .try_for_each(|(name, field)| checker.key(name, &field, KNOWN))
}

struct Checker<'a, 'b> {
    mode: Mode,
    log: &'a Log<'b>,
}

impl Checker<'_, '_> {
    fn key(&self, name: &str, field: &Field<'_>, known: Known) -> Result<(), CniError> {
        let found = known
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((known, kind)) = found else {
            return self.unknown(name, field, known);
        };
        if field.value.is_null() {
            return Ok(());
        }
        of_kind(field, *kind)?;
        let below = KNOWN_BELOW.iter().find(|(parent, _)| parent == known);
        below.map_or(Ok(()), |(_, below)| self.below(field, below))
    }

    fn below(&self, field: &Field<'_>, known: Known) -> Result<(), CniError> {
        let objects = match field.value {
            Value::Array(_) => field.list()?,
            _ => vec![field.clone()],
        };
        for object in objects {
            for (name, child) in object.children()? {
                self.key(name, &child, known)?;
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &str, field: &Field<'_>, known: Known) -> Result<(), CniError> {
        let Some(error) = misspelled(field, name, known.iter().map(|(name, _)| *name)) else {
            return Ok(());
        };
        match self.mode {
            Mode::Strict => Err(error),
            Mode::Lenient => {
                self.log.warn(format_args!("{error} It is ignored"));
                Ok(())
            }
        }
    }
}

fn of_kind(field: &Field<'_>, kind: Kind) -> Result<(), CniError> {
    match kind {
        Kind::Text => field.text().map(drop),
        Kind::Boolean => field.boolean().map(drop),
        Kind::List => field.list().map(drop),
        Kind::Object => field.object().map(drop),
        Kind::Duration if field.value.is_string() => Ok(()),
        Kind::Number | Kind::Duration => field.integer().map(drop),
        Kind::TextOrList if field.value.is_string() || field.value.is_array() => Ok(()),
        Kind::TextOrList => Err(field.wrong("is neither a string nor a list of strings")),
    }
}
