//! Part by part: how densely each is held.

use std::net::IpAddr;

use ipnet::IpNet;
use ledger::Density;
use maud::{Markup, html};

use super::super::table::{Cell, Table};
use super::super::{links, words};
use super::Shown;

/// A bar that grows with the share that is held.
const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

fn size(part: IpNet) -> u128 {
    1u128
        .checked_shl(u32::from(part.max_prefix_len() - part.prefix_len()))
        .unwrap_or(u128::MAX)
}

/// Which bar stands for a share; `None` if nothing is held.
fn level(held: u128, size: u128) -> Option<usize> {
    let last = BARS.len() - 1;
    (held > 0).then(|| {
        usize::try_from(words::percent(held, size) * 8 / 100).map_or(last, |level| level.min(last))
    })
}

fn look(density: Option<&Density>, size: u128) -> (&'static str, String) {
    match density {
        None => ("·", "never".to_owned()),
        Some(density) => match level(density.held.into(), size) {
            Some(level) => (BARS[level], format!("held level-{level}")),
            None if density.cooling > 0 => ("◆", "cooling".to_owned()),
            None => ("○", "free".to_owned()),
        },
    }
}

/// The grid of parts, and what its shapes mean.
pub(super) fn map(shown: &Shown, found: &[Density], length: u8) -> Markup {
    let mut next = found.iter().peekable();
    html! {
        section.map aria-labelledby="map-title" {
            h2 #map-title { "Map of parts, /" (length) " each" }
            ul.legend aria-label="Shapes" {
                li { span.cell.held aria-hidden="true" { "▁█" } " held: the bar grows with the share" }
                li { span.cell.cooling aria-hidden="true" { "◆" } " only cooling down" }
                li { span.cell.free aria-hidden="true" { "○" } " free, was used" }
                li { span.cell.never aria-hidden="true" { "·" } " never used" }
            }
            p.hint { "Arrow keys move on the map, Enter opens a part." }
            ul.grid.parts aria-labelledby="map-title" {
                @for part in parts(shown.range, length) {
                    @let density = next.next_if(|density| density.part == part);
                    @let (shape, class) = look(density, size(part));
                    @let label = label(part, density);
                    li {
                        a class={ "cell " (class) } title=(label) aria-label=(label)
                            href=(links::pool(&shown.space, shown.pool, Some(part), shown.at)) { (shape) }
                    }
                }
            }
        }
    }
}

fn label(part: IpNet, density: Option<&Density>) -> String {
    let (held, cooling) = density.map_or((0, 0), |density| (density.held, density.cooling));
    format!(
        "{part} {held} held, {cooling} cooling down of {}",
        size(part)
    )
}

/// The parts of a range, in order.
fn parts(range: IpNet, length: u8) -> impl Iterator<Item = IpNet> {
    let shift = u32::from(range.max_prefix_len() - length);
    let count = 1u128 << (length - range.prefix_len());
    (0..count).filter_map(move |index| {
        let ip = match range.network() {
            IpAddr::V4(first) => {
                let offset = u32::try_from(index << shift).ok()?;
                IpAddr::V4((u32::from(first) + offset).into())
            }
            IpAddr::V6(first) => IpAddr::V6((u128::from(first) + (index << shift)).into()),
        };
        IpNet::new(ip, length).ok()
    })
}

/// The parts with a used address.
pub(super) fn table(shown: &Shown, found: &[Density]) -> Table {
    let row = |density: &Density| {
        let size = size(density.part);
        let link = links::pool(&shown.space, shown.pool, Some(density.part), shown.at);
        vec![
            Cell::link(density.part, link),
            Cell::text(density.held),
            Cell::text(density.cooling),
            Cell::text(density.used),
            Cell::text(size),
            Cell::text(words::share(density.held.into(), size)),
        ]
    };
    Table {
        name: "parts",
        caption: format!(
            "Parts of {} with an address that was ever used",
            shown.range
        ),
        columns: &[
            "Part",
            "Held",
            "Cooling",
            "Ever used",
            "Addresses",
            "Held share",
        ],
        rows: found.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_range_without_a_gap() {
        for (range, length, last) in [
            ("10.0.0.0/16", 24, "10.0.255.0/24"),
            ("0.0.0.0/0", 8, "255.0.0.0/8"),
            ("fd00::/64", 72, "fd00::ff00:0:0:0/72"),
        ] {
            let range: IpNet = range.parse().unwrap();
            let parts: Vec<IpNet> = parts(range, length).collect();
            assert_eq!(parts.len(), 256);
            assert_eq!(parts[0].network(), range.network());
            assert_eq!(parts[255].to_string(), last);
        }
    }

    #[test]
    fn one_address_is_seen_and_full_is_the_highest_bar() {
        assert_eq!(level(0, 256), None);
        assert_eq!(level(1, 1 << 64), Some(0));
        assert_eq!(level(256, 256), Some(7));
    }
}
