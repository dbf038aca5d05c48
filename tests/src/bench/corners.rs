//! Corners of definitions: what reading one costs, and what the search for a free address costs
//! where a slow one would show.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cni_plugin::{Call, Host, plan};
use hdrhistogram::Histogram;
use ipledger_client::blocking::{ApiAddress, Budget, Client};
use ipledger_client::types::{AllocateRequest, RangeRequest};
use serde_json::json;

use super::Figures;

/// A definition with every kind of key, as an ADD reads it.
const DEFINITION: &str = r#"{"cniVersion":"1.0.0","name":"super-net","type":"macvlan",
"ipam":{"type":"whereabouts","cluster":"bench","range":"10.10.3.0/24","range_start":"10.10.3.20",
"range_end":"10.10.3.200","exclude":["10.10.3.64/30","10.10.3.100","10.10.3.1"],
"gateway":"10.10.3.1","ipRanges":[{"range":"2001:db8::/64"}],"network_name":"blue",
"routes":[{"dst":"0.0.0.0/0"},{"dst":"10.9.0.0/16","gw":"10.10.3.2"}],
"dns":{"nameservers":["192.0.2.53"],"search":["example.net"]},"log_level":"debug",
"kubernetes":{"kubeconfig":"/etc/cni/net.d/whereabouts.d/whereabouts.kubeconfig"}}}"#;

/// Reading the definition and resolving it into the request, with the look for a flat file.
pub fn reading(rounds: u32) -> Result<Figures> {
    let root = tempfile::tempdir()?;
    let host = Host {
        root: root.path().to_owned(),
        ..Host::this()
    };
    let variable = |name: &str| {
        let value = match name {
            "CNI_COMMAND" => "ADD",
            "CNI_CONTAINERID" => "c0ffee",
            "CNI_IFNAME" => "net1",
            "CNI_NETNS" | "CNI_PATH" => "/none",
            "NODENAME" => "node-1",
            "CNI_ARGS" => "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod",
            _ => return None,
        };
        Some(value.into())
    };
    let mut times = Histogram::<u64>::new(3)?;
    let begun = Instant::now();
    for _ in 0..rounds {
        let one = Instant::now();
        let planned = plan(Call {
            arguments: &[],
            variable: &variable,
            stdin: &mut DEFINITION.as_bytes(),
            stdout: &mut Vec::new(),
            stderr: &mut Vec::new(),
            host: &host,
        });
        times.record(u64::try_from(one.elapsed().as_micros())?)?;
        ensure!(planned.is_ok_and(|request| request.is_some()), "no request");
    }
    Ok(Figures::of(&times, begun.elapsed().as_secs_f64()))
}

/// The windows, and the address that each must give first.
#[must_use]
pub fn windows() -> Vec<(&'static str, RangeRequest, &'static str)> {
    let range = |range: &str| RangeRequest {
        range: range.to_owned(),
        ..RangeRequest::default()
    };
    let address = |number: u32| format!("10.1.{}.{}", number >> 8, number & 255);
    vec![
        ("in a /24", range("10.3.0.0/24"), "10.3.0.1"),
        (
            "behind 10,000 exclusions",
            RangeRequest {
                exclude: (1..=10_000).map(address).collect(),
                ..range("10.1.0.0/16")
            },
            "10.1.39.17",
        ),
        ("in a /8", range("11.0.0.0/8"), "11.0.0.1"),
        (
            "at the far end of a /64",
            RangeRequest {
                range_start: Some("2001:db8::ffff:ffff:ffff:fff0".to_owned()),
                ..range("2001:db8::/64")
            },
            "2001:db8::ffff:ffff:ffff:fff0",
        ),
    ]
}

/// Finding the first free address without taking it, over HTTP.
pub fn search(api: &str, window: &RangeRequest, first: &str, rounds: u32) -> Result<Figures> {
    let address: ApiAddress = api.parse().context("the API's address")?;
    let client = Client::new(&[address], None, "ipledger-bench")?;
    let request: AllocateRequest = serde_json::from_value(json!({
        "attachment": {"cluster": "bench", "network": "super-net", "container_id": "c0ffee",
                       "ifname": "net1"},
        "ranges": [window],
        "dry_run": true,
    }))?;
    let mut times = Histogram::<u64>::new(3)?;
    let begun = Instant::now();
    for _ in 0..rounds {
        let one = Instant::now();
        let answer = client.allocate(&request, Budget::within(Duration::from_secs(5)))?;
        times.record(u64::try_from(one.elapsed().as_micros())?)?;
        let got = answer.addresses.first().map(|got| got.address.as_str());
        ensure!(got == Some(first), "{got:?}, not {first}");
    }
    Ok(Figures::of(&times, begun.elapsed().as_secs_f64()))
}

/// Seconds that the service spent on allocates so far, and how many they were, as it says itself.
pub fn spent_on_allocates(api: SocketAddr) -> Result<(f64, f64)> {
    let mut connection = TcpStream::connect(api)?;
    connection.write_all(b"GET /metrics HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    connection.read_to_string(&mut text)?;
    let value = |name: &str| -> Result<f64> {
        let name = format!("ipledger_http_request_duration_seconds_{name}{{");
        let of_allocates = |line: &&str| line.starts_with(&name) && line.contains("allocate");
        let line = text.lines().find(of_allocates).context(name.clone())?;
        Ok(line.rsplit(' ').next().unwrap_or_default().parse()?)
    };
    Ok((value("sum")?, value("count")?))
}
