use clap::CommandFactory as _;

use super::*;

fn parse(line: &str) -> Result<Arguments, clap::Error> {
    Arguments::try_parse_from(line.split(' '))
}

#[test]
fn the_definition_is_sound() {
    Arguments::command().debug_assert();
}

#[test]
fn every_setting_has_an_environment_variable_and_a_text() {
    for command in Arguments::command().get_subcommands() {
        // A dry run is asked for, and nothing that an environment should say; no more is what a
        // command that a person gives once does.
        if !matches!(command.get_name(), "run" | "once") {
            continue;
        }
        let own = |id: &str| !matches!(id, "help" | "version" | "dry_run");
        for argument in command.get_arguments().filter(|a| own(a.get_id().as_str())) {
            let id = argument.get_id();
            let variable = argument.get_env().and_then(|name| name.to_str());
            assert!(
                variable.is_some_and(|name| name.starts_with("IPLEDGER_")),
                "{id}"
            );
            assert!(argument.get_help().is_some(), "{id}");
        }
    }
}

#[test]
fn the_defaults_are_those_of_the_rules() {
    let Command::Run(run) = parse("ipledger-sync run --cluster prod").unwrap().command else {
        panic!("run was asked for");
    };
    let config = run.looking.config();
    assert_eq!(config.settings, Settings::default());
    assert_eq!(config.limits, ReadLimits::default());
    assert!(run.metrics_listen.ip().is_loopback());
    // A pod whose DEL was lost: a period, a heartbeat that begins a row, the grace, one that
    // ends it, and each of them read a little later.
    let (beat, read) = (Duration::from_secs(10), config.heartbeat_interval);
    let grace = Duration::from_secs(config.settings.grace_seconds.into());
    let bound = run.period + beat + read + grace + read + beat + read;
    assert!(bound <= Duration::from_secs(120), "{bound:?}");
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for line in [
        "ipledger-sync run",
        "ipledger-sync run --cluster prod --grace 45",
        "ipledger-sync run --cluster prod --grace 0s",
        "ipledger-sync run --cluster prod --lease-duration 2s",
        "ipledger-sync run --cluster prod --unusual-share-percent 0",
        "ipledger-sync run --cluster prod --unreachable-node-timeout often",
        "ipledger-sync run --cluster prod --metrics-listen here",
        "ipledger-sync once --cluster prod --output xml",
    ] {
        assert!(parse(line).is_err(), "{line}");
    }
    let line = "ipledger-sync once --cluster prod --unreachable-node-timeout never --wait 2m";
    let Command::Once(once) = parse(line).unwrap().command else {
        panic!("once was asked for");
    };
    let settings = once.looking.config().settings;
    assert_eq!(settings.unreachable_node_timeout_seconds, None);
    assert_eq!(once.wait, Some(Duration::from_secs(120)));
}
