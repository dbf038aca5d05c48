//! What a seed's world is like.

use std::net::IpAddr;

use address::{Window, WindowText};
use ipledger_sync::diff::Settings;

use crate::dice::Dice;
use crate::time::SECOND;

/// What stands behind the time-out of unreachable nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// The setting is `never`.
    Never,
    /// Every machine that is cut off is switched off before the time-out.
    Fenced,
    /// Nothing: the operator lets the address of a container that may run be given away.
    Believed,
}

pub(crate) struct Plan {
    pub(crate) clusters: usize,
    /// Both clusters use one space.
    pub(crate) shared: bool,
    pub(crate) machines: usize,
    pub(crate) slots: usize,
    pub(crate) capacity: usize,
    pub(crate) window: Window,
    pub(crate) cooldown_seconds: u32,
    pub(crate) timeout: Timeout,
    /// The operator lets sync free what terminates on a node out of service.
    pub(crate) frees_terminating: bool,
    /// When faults stop.
    pub(crate) heals_at: i64,
}

impl Plan {
    pub(crate) fn draw(dice: &mut Dice) -> Plan {
        let clusters = 1 + usize::from(dice.percent(40));
        let slots = if dice.percent(15) {
            12
        } else {
            3 + dice.below(4)
        };
        let shared = clusters == 2 && dice.percent(70);
        let wanted = if shared { 2 * slots } else { slots };
        let capacity = wanted - 1 + dice.below(4);
        let timeouts = [
            Timeout::Never,
            Timeout::Fenced,
            Timeout::Fenced,
            Timeout::Believed,
        ];
        let timeout = dice.pick(&timeouts).expect("a choice");
        // Long enough for a machine that stays silent until the time-out.
        let heals_at = if timeout == Timeout::Believed {
            600 * SECOND
        } else {
            300 * SECOND
        };
        Plan {
            clusters,
            shared,
            machines: 2 + dice.below(2),
            slots,
            capacity,
            window: window(capacity),
            cooldown_seconds: dice.pick(&[0, 0, 20]).expect("a choice"),
            timeout,
            frees_terminating: dice.percent(50),
            heals_at: heals_at + dice.between(0, 300) * SECOND,
        }
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings {
            free_terminating_on_out_of_service: self.frees_terminating,
            ..Settings::default()
        };
        if self.timeout == Timeout::Never {
            settings.unreachable_node_timeout_seconds = None;
        }
        settings
    }

    /// All of the window.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let last = u8::try_from(self.capacity).expect("a small window");
        (1..=last).map(|last| [10, 0, 0, last].into())
    }
}

fn window(capacity: usize) -> Window {
    let last = format!("10.0.0.{capacity}");
    Window::parse(&WindowText {
        range: "10.0.0.0/24",
        range_start: Some("10.0.0.1"),
        range_end: Some(&last),
        exclude: &[],
    })
    .expect("a window")
}
