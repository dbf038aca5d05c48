//! Names, each with the rule of the world it comes from.

use crate::problem::Failure;

/// A key of a request that is only put together for a refusal: `attachment.` and `cluster`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Key<'a>(pub(crate) &'a str, pub(crate) &'a str);

impl<'a> From<&'a str> for Key<'a> {
    fn from(name: &'a str) -> Self {
        Self("", name)
    }
}

impl Key<'_> {
    /// The key as the caller wrote it.
    pub(super) fn text(self) -> String {
        format!("{}{}", self.0, self.1)
    }

    fn demand(self, holds: bool, value: &str, problem: &str) -> Result<(), Failure> {
        if holds {
            return Ok(());
        }
        Err(Failure::invalid(self.text(), value, problem))
    }
}

/// Kubernetes' limit for a DNS subdomain.
const LONGEST_DNS_NAME: usize = 253;

/// Name of a cluster: a DNS subdomain.
pub(crate) fn cluster<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    subdomain(key.into(), value)
}

/// Namespace or name of a pod: a DNS subdomain.
pub(crate) fn pod_name<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    subdomain(key.into(), value)
}

/// Name of a node: a DNS subdomain.
pub(crate) fn node<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    subdomain(key.into(), value)
}

fn subdomain(key: Key<'_>, value: &str) -> Result<(), Failure> {
    let holds = value.len() <= LONGEST_DNS_NAME && value.split('.').all(is_label);
    key.demand(
        holds,
        value,
        "is not a DNS subdomain; write at most 253 of a-z, 0-9, - and ., each part beginning and \
         ending with a letter or digit",
    )
}

/// A DNS label: one part of a subdomain, at most 63 characters.
pub(crate) fn dns_label<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    key.into().demand(
        value.len() <= 63 && is_label(value),
        value,
        "is not a DNS label; write at most 63 of a-z, 0-9 and -, beginning and ending with a \
         letter or digit",
    )
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Name of a CNI network configuration; CNI's rule.
pub(crate) fn network<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    cni_name(key.into(), value)
}

/// Container id; CNI's rule.
pub(crate) fn container_id<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    cni_name(key.into(), value)
}

fn cni_name(key: Key<'_>, value: &str) -> Result<(), Failure> {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let holds = (1..=256).contains(&value.len())
        && value.bytes().all(inner)
        && value.as_bytes()[0].is_ascii_alphanumeric();
    key.demand(
        holds,
        value,
        "is not a CNI name; write 1 to 256 of a-z, A-Z, 0-9, _, . and -, beginning with a letter \
         or digit",
    )
}

/// Name of an interface; the kernel's and CNI's rule.
pub(crate) fn ifname<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    let holds = (1..=15).contains(&value.len())
        && value.chars().all(allowed)
        && !matches!(value, "." | "..");
    key.into().demand(
        holds,
        value,
        "is not the name of an interface; write 1 to 15 bytes without /, : and white space",
    )
}

/// whereabouts' `network_name`; it becomes part of the name of a space.
pub(crate) fn network_name<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    let allowed = |c: char| !c.is_control() && c != '/' && c != '#';
    key.into().demand(
        (1..=253).contains(&value.len()) && value.chars().all(allowed),
        value,
        "is not a network name; write 1 to 253 bytes without /, # and control characters, or \
         leave the key out for the default space of the cluster",
    )
}

/// UID of a pod.
pub(crate) fn pod_uid<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    uid(key.into(), value)
}

/// UID of a cluster's `kube-system` namespace.
pub(crate) fn cluster_uid<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    uid(key.into(), value)
}

fn uid(key: Key<'_>, value: &str) -> Result<(), Failure> {
    let holds = (1..=64).contains(&value.len()) && value.bytes().all(|b| b.is_ascii_graphic());
    key.demand(
        holds,
        value,
        "is not a UID; write 1 to 64 visible ASCII characters",
    )
}

/// Name of a space, as far as it can be told without looking: cluster, network name, CIDR.
pub(crate) fn space<'a>(key: impl Into<Key<'a>>, value: &str) -> Result<(), Failure> {
    let holds = (1..=600).contains(&value.len()) && !value.chars().any(char::is_control);
    key.into().demand(
        holds,
        value,
        "is not the name of a space; write 1 to 600 bytes without control characters",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_of_their_world() {
        type Check = fn(&'static str, &str) -> Result<(), Failure>;
        let long = |length: usize| "a".repeat(length);
        let cases: [(Check, Vec<String>, Vec<String>); 7] = [
            (
                |key, value| cluster(key, value),
                ["prod", "prod-1.eu", "0"].map(String::from).to_vec(),
                [
                    "",
                    "Prod",
                    "-a",
                    "a-",
                    "a..b",
                    ".a",
                    "a_b",
                    "a b",
                    "ä",
                    &long(254),
                ]
                .map(String::from)
                .to_vec(),
            ),
            (
                |key, value| network(key, value),
                ["net", "a_b.c-d", "9"].map(String::from).to_vec(),
                ["", "_a", "a/b", "a b", "ä", &long(257)]
                    .map(String::from)
                    .to_vec(),
            ),
            (
                |key, value| ifname(key, value),
                ["net1", "a", "eth0.100", &long(15)]
                    .map(String::from)
                    .to_vec(),
                [
                    "",
                    ".",
                    "..",
                    "a/b",
                    "a:b",
                    "a b",
                    "a\u{7f}",
                    "a\0",
                    &long(16),
                ]
                .map(String::from)
                .to_vec(),
            ),
            (
                |key, value| network_name(key, value),
                ["blue", "VLAN 7", "é"].map(String::from).to_vec(),
                ["", "a/b", "a#b", "a\nb", &long(254)]
                    .map(String::from)
                    .to_vec(),
            ),
            (
                |key, value| pod_uid(key, value),
                ["2c0a7e1e-0000-4000-8000-000000000001", "x"]
                    .map(String::from)
                    .to_vec(),
                ["", "a b", "a\n", "ä", &long(65)]
                    .map(String::from)
                    .to_vec(),
            ),
            (
                |key, value| space(key, value),
                ["prod/blue#10.0.0.0/24", "shared:vlan7"]
                    .map(String::from)
                    .to_vec(),
                ["", "a\u{1}", &long(601)].map(String::from).to_vec(),
            ),
            (
                |key, value| dns_label(key, value),
                ["vlan7", &long(63)].map(String::from).to_vec(),
                ["", "a.b", "A", &long(64)].map(String::from).to_vec(),
            ),
        ];
        for (index, (check, right, wrong)) in cases.into_iter().enumerate() {
            for value in right {
                assert!(
                    check("key", &value).is_ok(),
                    "{index}: {value:?} was refused"
                );
            }
            for value in wrong {
                let failure = check("key", &value).expect_err(&value);
                assert_eq!(failure.key(), Some("key"), "{index}: {value:?}");
            }
        }
    }

    #[test]
    fn a_key_stands_where_the_caller_wrote_it() {
        let failure = cluster(Key("attachment.", "cluster"), "A").unwrap_err();
        assert!(
            failure
                .detail()
                .starts_with("attachment.cluster \"A\" is not")
        );
    }
}
