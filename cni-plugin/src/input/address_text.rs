//! Addresses in texts: as the standard writes them, and with the zeros that whereabouts takes.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// A standard address in canonical form (IPv4-mapped IPv6 is IPv4, as in Go).
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>()
        .ok()
        .map(|address| address.to_canonical())
}

/// An address that may have leading zeros in its IPv4 parts (decimal, never octal).
pub(crate) fn sloppy_address(text: &str) -> Option<IpAddr> {
    address(text).or_else(|| {
        let mut octets = [0; 4];
        let mut parts = text.split('.');
        for octet in &mut octets {
            *octet = decimal(parts.next()?)?;
        }
        parts
            .next()
            .is_none()
            .then(|| Ipv4Addr::from(octets).into())
    })
}

/// Digits only; `parse` would take a sign, too.
fn decimal(text: &str) -> Option<u8> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// An address with its prefix length; host bits are kept.
pub(crate) fn cidr(text: &str) -> Option<IpNet> {
    split(text, |address| address.parse().ok())
}

/// The same, with leading zeros allowed.
pub(crate) fn sloppy_cidr(text: &str) -> Option<IpNet> {
    split(text, |text| {
        text.parse().ok().or_else(|| sloppy_address(text))
    })
}

fn split(text: &str, parse: impl Fn(&str) -> Option<IpAddr>) -> Option<IpNet> {
    let (left, right) = text.split_once('/')?;
    let (written, length) = (parse(left)?, decimal(right)?);
    let canonical = written.to_canonical();
    let length = match (written, canonical) {
        (IpAddr::V6(_), IpAddr::V4(_)) => length.checked_sub(96)?,
        _ => length,
    };
    IpNet::new(canonical, length).ok()
}

/// First and last address that are handed out by default: without the network's own address and
/// the last one, unless the network is too small to have them.
pub(crate) fn usable(net: &IpNet) -> (IpAddr, IpAddr) {
    let (network, last) = (net.network(), net.broadcast());
    if net.max_prefix_len() - net.prefix_len() < 2 {
        return (network, last);
    }
    (step(network, true), step(last, false))
}

/// The next or the previous address. Only used inside a network that has room for it.
fn step(address: IpAddr, up: bool) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let bits = address.to_bits();
            let bits = if up {
                bits.saturating_add(1)
            } else {
                bits.saturating_sub(1)
            };
            Ipv4Addr::from_bits(bits).into()
        }
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let bits = if up {
                bits.saturating_add(1)
            } else {
                bits.saturating_sub(1)
            };
            std::net::Ipv6Addr::from_bits(bits).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_taken_only_where_whereabouts_takes_them() {
        assert_eq!(address("010.0.0.1"), None);
        assert_eq!(sloppy_address("010.000.000.001"), address("10.0.0.1"));
        assert_eq!(sloppy_address("10.0.0"), None);
        assert_eq!(sloppy_address("10.0.0.0.1"), None);
        assert_eq!(sloppy_address("10.0.0.+1"), None);
        assert_eq!(sloppy_address("10.0.0.256"), None);
        assert_eq!(cidr("010.0.0.0/24"), None);
        assert_eq!(sloppy_cidr("010.0.0.0/24"), cidr("10.0.0.0/24"));
        assert_eq!(cidr("10.0.0.0"), None);
        assert_eq!(cidr("10.0.0.0/33"), None);
        assert_eq!(cidr("10.0.0.0/-1"), None);
    }

    #[test]
    fn mapped_addresses_are_ipv4() {
        assert_eq!(cidr("::ffff:10.0.0.0/120"), cidr("10.0.0.0/24"));
        assert_eq!(cidr("::ffff:10.0.0.0/64"), None);
        assert_eq!(address("::FFFF:10.0.0.1"), address("10.0.0.1"));
    }

    #[test]
    fn small_networks_are_usable_whole() {
        for (net, first, last) in [
            ("10.0.0.0/24", "10.0.0.1", "10.0.0.254"),
            ("10.0.0.0/30", "10.0.0.1", "10.0.0.2"),
            ("10.0.0.0/31", "10.0.0.0", "10.0.0.1"),
            ("10.0.0.7/32", "10.0.0.7", "10.0.0.7"),
            ("0.0.0.0/0", "0.0.0.1", "255.255.255.254"),
            ("2001:db8::/126", "2001:db8::1", "2001:db8::2"),
            ("2001:db8::/127", "2001:db8::", "2001:db8::1"),
        ] {
            let expected = (address(first).unwrap(), address(last).unwrap());
            assert_eq!(usable(&cidr(net).unwrap()), expected, "{net}");
        }
    }
}
