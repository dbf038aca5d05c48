//! The addresses that one definition hands out.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::number::{Family, family, from_number, to_number};
use crate::text::{canonical, unmapped};

mod bounds;
mod error;
mod exclude;
mod text;

pub use error::WindowError;
pub use text::{MAX_EXCLUDES, WindowText};

use bounds::{Bound, Place};
use error::WindowProblem;

/// What a definition hands out: the part of a CIDR from start to end, less the excluded parts.
///
/// Start and end lie inside the usable part of the CIDR. Usable are, by prefix length:
///
/// | prefix length | usable |
/// |---|---|
/// | IPv4 /1 to /30 | all but the network and the broadcast address |
/// | IPv6 /1 to /126 | all but the subnet-router anycast address and the last address, which whereabouts does not hand out either |
/// | /31, /127 | both addresses (RFC 3021, RFC 6164) |
/// | /32, /128 | the one address |
///
/// The IPv4-mapped block `::ffff:0:0/96` is never handed out, whatever range holds it. Two
/// windows are equal when they hand out the same addresses of the same CIDR between the same
/// bounds, however they were written.
#[derive(Clone, Eq, PartialEq, Hash, Debug)]
pub struct Window {
    cidr: IpNet,
    first: u128,
    last: u128,
    excluded: Vec<(u128, u128)>,
    capacity: u128,
}

impl Window {
    /// Reads a definition strictly: what cannot be meant is refused.
    ///
    /// # Errors
    /// [`WindowError`] names the key, the value, what is wrong and what would be right; only the
    /// first mistake is reported.
    ///
    /// ```
    /// use address::{Window, WindowText};
    ///
    /// let window = Window::parse(&WindowText {
    ///     range: "192.168.1.5-192.168.1.25/24",
    ///     range_start: None,
    ///     range_end: None,
    ///     exclude: &["192.168.1.8/30".to_owned(), "192.168.1.20-192.168.1.22".to_owned()],
    /// })?;
    /// assert_eq!(window.cidr().to_string(), "192.168.1.0/24");
    /// assert_eq!(window.exclude_text(), ["192.168.1.8-192.168.1.11", "192.168.1.20-192.168.1.22"]);
    /// assert_eq!(window.capacity(), 14);
    /// # Ok::<(), address::WindowError>(())
    /// ```
    pub fn parse(text: &WindowText<'_>) -> Result<Self, WindowError> {
        text::parse(text)
    }

    /// A window from parts. The CIDR is reduced to its network; start and end must be usable
    /// addresses of it; each excluded part is (first, last), both included, and may lie outside.
    ///
    /// # Errors
    /// As [`Window::parse`]: the keys named are `range`, `range_start`, `range_end`, `exclude`
    /// and `exclude[i]`, the values canonical texts.
    pub fn new(
        cidr: IpNet,
        start: IpAddr,
        end: IpAddr,
        exclude: Vec<(IpAddr, IpAddr)>,
    ) -> Result<Self, WindowError> {
        let cidr = bounds::acceptable_cidr(cidr, &cidr.to_string())?;
        for (key, ip) in [("range_start", start), ("range_end", end)] {
            if let Some(v4) = unmapped(ip) {
                return Err(WindowProblem::Mapped(v4).about(key, &canonical(ip)));
            }
        }
        let (start_text, end_text) = (canonical(start), canonical(end));
        let start = Bound {
            place: Place::RangeStart,
            value: &start_text,
            ip: start,
        };
        let end = Bound {
            place: Place::RangeEnd,
            value: &end_text,
            ip: end,
        };
        let (first, last) = bounds::resolve(cidr, Some(&start), Some(&end))?;
        exclude::within_limit(exclude.len())?;
        let mut excluded = Vec::with_capacity(exclude.len());
        for (index, (first, last)) in exclude.into_iter().enumerate() {
            excluded.push(exclude::part(first, last, cidr).map_err(|problem| {
                problem.about(&exclude::key(index), &exclude::part_text(first, last))
            })?);
        }
        let window = Self::assemble(cidr, first, last, excluded);
        window.not_empty(|| window.exclude_text().join(", "))?;
        Ok(window)
    }

    /// The CIDR, reduced to its network.
    pub fn cidr(&self) -> IpNet {
        self.cidr
    }

    /// The family of all its addresses.
    pub fn family(&self) -> Family {
        family(self.cidr.network())
    }

    /// The lowest address of the window, excluded or not.
    pub fn start(&self) -> IpAddr {
        from_number(self.family(), self.first)
    }

    /// The highest address of the window, excluded or not.
    pub fn end(&self) -> IpAddr {
        from_number(self.family(), self.last)
    }

    /// [`start`](Self::start) as a number.
    pub fn first(&self) -> u128 {
        self.first
    }

    /// [`end`](Self::end) as a number.
    pub fn last(&self) -> u128 {
        self.last
    }

    /// The excluded parts (first, last): sorted, neither overlapping nor touching, and clipped to
    /// the window. Includes the IPv4-mapped block where an IPv6 window holds it.
    pub fn excluded(&self) -> &[(u128, u128)] {
        &self.excluded
    }

    /// The excluded parts as canonical texts, `first-last` or one address, merged and sorted. The
    /// IPv4-mapped block is left out: it is excluded without being named. Parsing the texts with
    /// the same CIDR, start and end gives an equal window.
    pub fn exclude_text(&self) -> Vec<String> {
        exclude::texts(&self.excluded, self.family())
    }

    /// Whether the window hands this address out: of its family, from start to end and not
    /// excluded. O(log exclusions).
    pub fn contains(&self, ip: IpAddr) -> bool {
        let n = to_number(ip);
        family(ip) == self.family()
            && (self.first..=self.last).contains(&n)
            && !exclude::covers(&self.excluded, n)
    }

    /// How many addresses the window hands out; at least 1.
    pub fn capacity(&self) -> u128 {
        self.capacity
    }

    /// Merges the exclusions; the caller has checked the rest and checks that something is left.
    fn assemble(cidr: IpNet, first: u128, last: u128, excluded: Vec<exclude::Part>) -> Self {
        let excluded = exclude::merged(excluded, family(cidr.network()), first, last);
        let excluded_count: u128 = excluded.iter().map(|&(a, b)| b - a + 1).sum();
        let capacity = last - first + 1 - excluded_count;
        Self {
            cidr,
            first,
            last,
            excluded,
            capacity,
        }
    }

    fn not_empty(&self, exclude: impl FnOnce() -> String) -> Result<(), WindowError> {
        if self.capacity > 0 {
            return Ok(());
        }
        let problem = WindowProblem::NothingLeft {
            start: self.start(),
            end: self.end(),
        };
        Err(problem.about("exclude", &exclude()))
    }
}
