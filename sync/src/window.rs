//! A range of addresses in which somebody waits for one.

use std::net::IpAddr;

use ipledger_client::types::Wakeup;

use crate::diff::HoldKey;

/// Part of a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    space: String,
    first: IpAddr,
    last: IpAddr,
}

impl Window {
    /// The window that a wake-up is about; `None` if its addresses cannot be read.
    #[must_use]
    pub fn of(wakeup: &Wakeup) -> Option<Window> {
        Some(Window {
            space: wakeup.space.clone(),
            first: wakeup.first.parse().ok()?,
            last: wakeup.last.parse().ok()?,
        })
    }

    /// Whether the hold's address is in it.
    #[must_use]
    pub fn has(&self, key: &HoldKey) -> bool {
        let same_family = self.first.is_ipv4() == key.address.is_ipv4();
        let inside = (self.first..=self.last).contains(&key.address);
        self.space == key.space && same_family && inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_its_own_addresses_only() {
        let wakeup: Wakeup = serde_json::from_value(serde_json::json!({
            "id": 1, "space": "prod", "cidr": "10.0.0.0/24", "first": "10.0.0.5",
            "last": "10.0.0.7", "reason": "exhausted", "at": "2026-11-30T07:00:00Z",
        }))
        .unwrap();
        let window = Window::of(&wakeup).unwrap();
        let key = |space: &str, address: &str| HoldKey {
            space: space.to_owned(),
            address: address.parse().unwrap(),
            step: 0,
        };
        assert!(window.has(&key("prod", "10.0.0.5")));
        assert!(window.has(&key("prod", "10.0.0.7")));
        for (space, address) in [
            ("prod", "10.0.0.4"),
            ("prod", "10.0.0.8"),
            ("prod/blue", "10.0.0.6"),
            ("prod", "::a00:6"),
        ] {
            assert!(!window.has(&key(space, address)), "{space} {address}");
        }
        let garbled = Wakeup {
            last: "?".to_owned(),
            ..wakeup
        };
        assert_eq!(Window::of(&garbled), None);
    }
}
