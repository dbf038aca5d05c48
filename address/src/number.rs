//! Addresses as numbers.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address family. Together with a number it is an address: all arithmetic is on `u128`.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub enum Family {
    /// 32-bit addresses, numbers `0..=u32::MAX`.
    V4,
    /// 128-bit addresses, all numbers.
    V6,
}

impl Family {
    /// Bits of an address: 32 or 128, which is also the longest prefix length.
    pub(crate) fn bits(self) -> u8 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

/// `IPv4` or `IPv6`.
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}

/// The family of an address. An IPv4-mapped IPv6 address (`::ffff:10.0.0.1`) is `V6` here;
/// [`parse_ip`](crate::parse_ip) never returns one.
pub fn family(ip: IpAddr) -> Family {
    match ip {
        IpAddr::V4(_) => Family::V4,
        IpAddr::V6(_) => Family::V6,
    }
}

/// The address as a number: `0..=u32::MAX` for IPv4, any `u128` for IPv6.
///
/// ```
/// assert_eq!(address::to_number("0.0.1.0".parse()?), 256);
/// assert_eq!(address::to_number("::1:0".parse()?), 65_536);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
pub fn to_number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The inverse of [`to_number`]. Total: a number beyond IPv4 saturates to `255.255.255.255`,
/// so it is never truncated into an unrelated address. Numbers that come from a
/// [`Window`](crate::Window) of the same family are always exact.
///
/// ```
/// use address::{Family, from_number};
/// assert_eq!(from_number(Family::V4, 256).to_string(), "0.0.1.0");
/// assert_eq!(from_number(Family::V4, 1 << 32).to_string(), "255.255.255.255");
/// assert_eq!(from_number(Family::V6, 1 << 32).to_string(), "::1:0:0");
/// ```
pub fn from_number(family: Family, n: u128) -> IpAddr {
    match family {
        Family::V4 => Ipv4Addr::from_bits(u32::try_from(n).unwrap_or(u32::MAX)).into(),
        Family::V6 => Ipv6Addr::from_bits(n).into(),
    }
}
