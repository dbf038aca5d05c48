//! What an address definition means, and which of its addresses is free: pure arithmetic on
//! 128-bit numbers, without I/O.
//!
//! - [`parse_ip`] and [`canonical`]: one spelling per address.
//! - [`Window`]: the addresses that one definition (`range`, `range_start`, `range_end`,
//!   `exclude`) hands out.
//! - [`RunSet`]: a set of addresses kept as maximal runs, so that a full /8 is one entry.
//! - [`lowest_free`] and [`count_in_window`]: the two questions asked of a window and a set.
//!
//! Reading is strict: what cannot be meant is refused with a [`WindowError`] that names the key,
//! the value, what is wrong and what would be right.
//!
//! ```
//! use address::{RunSet, Window, WindowText, canonical, from_number, lowest_free, to_number};
//!
//! let exclude = ["10.0.0.1".to_owned()];
//! let window = Window::parse(&WindowText {
//!     range: "10.0.0.0/29",
//!     range_start: None,
//!     range_end: Some("10.0.0.5"),
//!     exclude: &exclude,
//! })?;
//! assert_eq!(window.capacity(), 4); // .2 to .5
//!
//! let mut taken = RunSet::default();
//! taken.insert(to_number("10.0.0.2".parse()?));
//! let free = lowest_free(&window, &taken, 0).map(|n| canonical(from_number(window.family(), n)));
//! assert_eq!(free.as_deref(), Some("10.0.0.3"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod free;
mod number;
mod runs;
mod text;
mod window;

pub use free::{count_in_window, lowest_free};
pub use number::{Family, family, from_number, to_number};
pub use runs::RunSet;
pub use text::{ParseError, canonical, parse_ip};
pub use window::{MAX_EXCLUDES, Window, WindowError, WindowText};
