//! No text makes the crate panic, and what it accepts is a window.

use address::{RunSet, Window, WindowText, lowest_free, parse_ip};
use proptest::prelude::*;

/// Anything, and texts that are nearly right.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[0-9a-fA-F:./%\\- ]{0,50}",
        "(10|010|256|0)(\\.[0-9]{1,3}){2,4}(-10\\.0\\.0\\.[0-9]{1,3})?(/[0-9]{0,3})?",
        "(fd00|::ffff|2001:DB8)?:{0,2}[0-9a-f]{0,5}:[0-9a-f]{0,4}(%eth0)?(/[0-9]{0,4})?",
        "fd00::[0-9a-f]{1,4}(-fd00::[0-9a-f]{1,5})?(/(0|1|12[0-9]))?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn addresses(text in texts()) {
        match parse_ip(&text) {
            Ok(ip) => prop_assert_eq!(parse_ip(&ip.to_string()), Ok(ip)),
            Err(error) => prop_assert!(!error.to_string().chars().any(char::is_control)),
        }
    }

    #[test]
    fn definitions(
        range in texts(),
        range_start in prop::option::weighted(0.2, texts()),
        range_end in prop::option::weighted(0.2, texts()),
        exclude in prop::collection::vec(texts(), 0..2),
        from: u128,
    ) {
        let text = WindowText {
            range: &range,
            range_start: range_start.as_deref(),
            range_end: range_end.as_deref(),
            exclude: &exclude,
        };
        match Window::parse(&text) {
            Ok(window) => {
                prop_assert!(window.capacity() > 0);
                prop_assert!(window.cidr().contains(&window.start()));
                prop_assert!(window.cidr().contains(&window.end()));
                let free = lowest_free(&window, &RunSet::default(), from);
                prop_assert!(free.is_none_or(|n| n >= from && n <= window.last()));
            }
            Err(error) => {
                let keys = ["range", "range_start", "range_end", "exclude", "exclude[0]", "exclude[1]"];
                prop_assert!(keys.contains(&error.key()), "{}", error);
                prop_assert!(error.value().chars().count() <= 200);
                prop_assert!(!error.to_string().chars().any(char::is_control));
            }
        }
    }
}
