//! Windows from parts, and the limits on what is read and repeated.

use address::{Window, WindowText};

#[test]
fn parts_are_checked_like_texts() {
    let new = |cidr: &str, start: &str, end: &str, exclude: &[(&str, &str)]| {
        let parts = exclude
            .iter()
            .map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
        let (start, end) = (start.parse().unwrap(), end.parse().unwrap());
        Window::new(cidr.parse().unwrap(), start, end, parts.collect())
    };
    let error = |result: Result<Window, address::WindowError>| result.unwrap_err().to_string();
    assert_eq!(
        error(new("0.0.0.0/0", "10.0.0.1", "10.0.0.2", &[])),
        r#"range "0.0.0.0/0" has the prefix length "0"; IPv4 takes the numbers 1 to 32 without leading zeros"#
    );
    assert_eq!(
        error(new("::ffff:10.0.0.0/120", "10.0.0.1", "10.0.0.2", &[])),
        r#"range "::ffff:10.0.0.0/120" is an IPv4-mapped IPv6 range; write 10.0.0.0/24"#
    );
    assert_eq!(
        error(new("::/64", "::1", "::ffff:10.0.0.2", &[])),
        r#"range_end "::ffff:10.0.0.2" is an IPv4-mapped IPv6 address; write 10.0.0.2"#
    );
    assert_eq!(
        error(new("10.0.0.0/24", "10.0.0.9", "10.0.0.2", &[])),
        r#"range_end "10.0.0.2" is before range_start 10.0.0.9; swap the two or correct one"#
    );
    assert_eq!(
        error(new("10.0.0.0/24", "10.0.0.0", "10.0.0.2", &[])),
        r#"range_start "10.0.0.0" is the network address of 10.0.0.0/24; the first usable address is 10.0.0.1"#
    );
    assert_eq!(
        error(new(
            "10.0.0.0/24",
            "10.0.0.1",
            "10.0.0.2",
            &[("10.0.0.2", "10.0.0.1")]
        )),
        r#"exclude[0] "10.0.0.2-10.0.0.1" ends before it begins; write 10.0.0.1-10.0.0.2"#
    );
    assert_eq!(
        error(new(
            "10.0.0.0/24",
            "10.0.0.1",
            "10.0.0.2",
            &[("::1", "::1")]
        )),
        r#"exclude[0] "::1" is IPv6, but range 10.0.0.0/24 is IPv4; it belongs with an IPv6 range"#
    );
    assert_eq!(
        error(new(
            "10.0.0.0/24",
            "10.0.0.1",
            "10.0.0.2",
            &[("10.0.0.0", "10.0.0.9")]
        )),
        r#"exclude "10.0.0.1-10.0.0.2" leaves no address of 10.0.0.1 to 10.0.0.2; exclude less or widen the range"#
    );
    assert!(
        new(
            "10.0.0.77/24",
            "10.0.0.1",
            "10.0.0.2",
            &[("10.9.0.0", "10.9.0.9")]
        )
        .is_ok()
    );
}

#[test]
fn values_are_cut_to_200_characters() {
    let long = "ä".repeat(10_000_000);
    let exclude = [long.clone()];
    let texts = [
        WindowText {
            range: &long,
            range_start: None,
            range_end: None,
            exclude: &[],
        },
        WindowText {
            range: "10.0.0.0/24",
            range_start: Some(&long),
            range_end: None,
            exclude: &[],
        },
        WindowText {
            range: "10.0.0.0/24",
            range_start: None,
            range_end: Some(&long),
            exclude: &[],
        },
        WindowText {
            range: "10.0.0.0/24",
            range_start: None,
            range_end: None,
            exclude: &exclude,
        },
    ];
    let cut = format!("{}…", "ä".repeat(199));
    for (text, key) in texts
        .iter()
        .zip(["range", "range_start", "range_end", "exclude[0]"])
    {
        let error = Window::parse(text).unwrap_err();
        assert_eq!((error.key(), error.value()), (key, cut.as_str()));
        assert!(error.to_string().chars().count() < 500, "{error}");
    }
    let long_length = format!("10.0.0.0/{}", "9".repeat(10_000_000));
    let text = WindowText {
        range: &long_length,
        ..texts[0]
    };
    assert!(
        Window::parse(&text)
            .unwrap_err()
            .to_string()
            .chars()
            .count()
            < 700
    );
    let as_it_is = "x".repeat(200);
    let text = WindowText {
        range: &as_it_is,
        ..texts[0]
    };
    assert_eq!(Window::parse(&text).unwrap_err().value(), as_it_is);
}

#[test]
fn as_many_exclusions_as_documented() {
    let mut exclude = vec!["10.0.0.1".to_owned(); address::MAX_EXCLUDES];
    let parse = |exclude: &[String]| {
        let text = WindowText {
            range: "10.0.0.0/24",
            range_start: None,
            range_end: None,
            exclude,
        };
        Window::parse(&text)
    };
    assert_eq!(parse(&exclude).unwrap().excluded().len(), 1);
    exclude.push("10.0.0.1".to_owned());
    assert_eq!(
        parse(&exclude).unwrap_err().to_string(),
        r#"exclude "65537 items" is more than 65536; write neighbouring addresses as first-last or as a CIDR"#
    );
}
