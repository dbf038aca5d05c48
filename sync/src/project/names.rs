//! Names of objects and keys of entries, as whereabouts makes them.

use std::net::IpAddr;

use address::{Family, family, from_number, to_number};
use ipnet::IpNet;

/// Name of the pool of a range: `10.10.3.0-24`, `blue-10.10.3.0-24` with a network name,
/// `2001-db8---64` for `2001:db8::/64`.
#[must_use]
pub fn pool_name(network: &str, range: IpNet) -> String {
    prefixed(network, &normalised(&range.trunc().to_string()))
}

/// Name of the reservation of an address: `10.10.3.30`, `blue-10.10.3.30` with a network name,
/// `fd00--0` for `fd00::`.
#[must_use]
pub fn reservation_name(network: &str, address: IpAddr) -> String {
    prefixed(network, &normalised(&address.to_string()))
}

/// The address that the name of a reservation without its network's prefix stands for.
#[must_use]
pub fn reservation_name_address(name: &str) -> Option<IpAddr> {
    let parsed = if name.contains('.') {
        name.parse().ok()
    } else {
        name.replace('-', ":").parse().ok()
    };
    parsed.map(|ip: IpAddr| ip.to_canonical())
}

fn prefixed(network: &str, name: &str) -> String {
    if network.is_empty() {
        name.to_owned()
    } else {
        format!("{network}-{name}")
    }
}

/// An object's name cannot end in what a colon becomes, so a zero is added first.
fn normalised(text: &str) -> String {
    let mut text = text.to_owned();
    if text.ends_with(':') {
        text.push('0');
    }
    text.replace([':', '/'], "-")
}

/// Whether Kubernetes takes this name: a DNS subdomain. Pools and reservations whose text begins
/// with `::`, or whose network name has capitals, have none that it takes.
#[must_use]
pub fn is_object_name(name: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// Key of an address in its pool: how far it is from the start of the range. whereabouts keeps 64
/// bits of it and reads 63; what is written here is the whole number.
#[must_use]
pub fn offset_of(range: IpNet, address: IpAddr) -> Option<u128> {
    range
        .contains(&address)
        .then(|| to_number(address) - to_number(range.network()))
}

/// The address at a distance from a base, if the family has one.
#[must_use]
pub fn address_at(base: IpAddr, offset: u128) -> Option<IpAddr> {
    let number = to_number(base).checked_add(offset)?;
    match family(base) {
        Family::V4 if number > u128::from(u32::MAX) => None,
        family => Some(from_number(family, number)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_the_incumbent() {
        // (network, range, name)
        let pools = [
            ("", "10.0.0.0/8", "10.0.0.0-8"),
            ("", "10.10.3.0/24", "10.10.3.0-24"),
            ("test", "10.0.0.0/8", "test-10.0.0.0-8"),
            ("", "2001:db8::/64", "2001-db8---64"),
            ("", "2001:DB8:0:0::/64", "2001-db8---64"),
            ("", "::/126", "---126"),
            ("blue", "::/126", "blue----126"),
        ];
        for (network, range, name) in pools {
            assert_eq!(pool_name(network, range.parse().unwrap()), name);
        }
        // (network, address, name)
        let reservations = [
            ("", "10.0.0.1", "10.0.0.1"),
            ("", "fd00::1", "fd00--1"),
            ("", "fd00::", "fd00--0"),
            ("", "::1", "--1"),
            ("blue", "10.0.0.1", "blue-10.0.0.1"),
        ];
        for (network, address, name) in reservations {
            assert_eq!(reservation_name(network, address.parse().unwrap()), name);
        }
    }

    #[test]
    fn some_names_no_object_can_have() {
        for name in ["10.10.3.0-24", "2001-db8---64", "fd00--0", "blue----126"] {
            assert!(is_object_name(name), "{name}");
        }
        let long = "a".repeat(254);
        for name in [
            "---126",
            "--1",
            "Blue-10.0.0.1",
            "a_b-10.0.0.1",
            "",
            "a..b",
            &long,
        ] {
            assert!(!is_object_name(name), "{name}");
        }
    }

    #[test]
    fn offsets_count_from_the_network() {
        let cases = [
            ("10.10.3.0/24", "10.10.3.30", Some(30)),
            ("10.0.0.0/8", "10.1.0.0", Some(65_536)),
            ("10.10.3.0/24", "10.10.4.1", None),
            ("10.10.3.0/24", "fd00::1", None),
            ("fd00::/64", "fd00::1:0", Some(65_536)),
            ("fd00::/48", "fd00:0:0:1::5", Some((1 << 64) + 5)),
        ];
        for (range, address, offset) in cases {
            let (range, address) = (range.parse().unwrap(), address.parse().unwrap());
            assert_eq!(offset_of(range, address), offset, "{address} in {range}");
        }
        let last = "255.255.255.255".parse().unwrap();
        assert_eq!(address_at(last, 0), Some(last));
        assert_eq!(address_at(last, 1), None);
    }

    proptest! {
        #[test]
        fn a_name_leads_back_to_its_address(number: u128, v6: bool) {
            let family = if v6 { Family::V6 } else { Family::V4 };
            let number = if v6 { number } else { number & u128::from(u32::MAX) };
            let address = from_number(family, number).to_canonical();
            let name = reservation_name("", address);
            prop_assert_eq!(reservation_name_address(&name), Some(address));
        }

        #[test]
        fn an_offset_leads_back_to_its_address(number: u128, length in 0u8..=128) {
            let address = from_number(Family::V6, number);
            let range = IpNet::new(address, length).unwrap().trunc();
            let offset = offset_of(range, address).unwrap();
            prop_assert_eq!(address_at(range.network(), offset), Some(address));
        }
    }
}
