//! Whatever stands in a definition: ADD understands it or says what is wrong, and never panics.
//! The first byte chooses whether the rest is standard input or the flat file.

#![no_main]

use std::ffi::OsString;
use std::path::PathBuf;

use cni_plugin::{Call, Host, plan};
use libfuzzer_sys::fuzz_target;

const DEFINITION: &[u8] = br#"{"cniVersion":"1.0.0","name":"n","ipam":{"type":"whereabouts",
    "cluster":"prod","range":"10.0.0.0/24"}}"#;

fn variable(name: &str) -> Option<OsString> {
    let value = match name {
        "CNI_COMMAND" => "ADD",
        "CNI_CONTAINERID" => "c0ffee",
        "CNI_IFNAME" => "net1",
        "CNI_NETNS" | "CNI_PATH" => "/none",
        _ => return None,
    };
    Some(value.into())
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else {
        return;
    };
    // A host of its own for each process of the fuzzer.
    let root = std::env::temp_dir().join(format!("ipledger-fuzz-{}", std::process::id()));
    let flat_file = root.join("etc/cni/net.d/ipledger.d/ipledger.conf");
    let (mut stdin, file) = match choice % 2 {
        0 => (rest, None),
        _ => (DEFINITION, Some(rest)),
    };
    lay(&flat_file, file);
    let host = Host {
        root,
        ..Host::this()
    };
    let planned = plan(Call {
        arguments: &[],
        variable: &variable,
        stdin: &mut stdin,
        stdout: &mut Vec::new(),
        stderr: &mut Vec::new(),
        host: &host,
    });
    if let Err(error) = planned {
        assert!(!error.message.is_empty());
    }
});

fn lay(path: &PathBuf, text: Option<&[u8]>) {
    match text {
        Some(text) => {
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("temporary files");
            std::fs::write(path, text).expect("temporary files");
        }
        None => drop(std::fs::remove_file(path)),
    }
}
