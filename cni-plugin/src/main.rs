use std::io::{stderr, stdin, stdout};
use std::process::ExitCode;

use cni_plugin::{Call, Host, dispatch};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().collect();
    ExitCode::from(dispatch(Call {
        arguments: &arguments,
        variable: &|name| std::env::var_os(name),
        stdin: &mut stdin().lock(),
        stdout: &mut stdout().lock(),
        stderr: &mut stderr().lock(),
        host: &Host::this(),
    }))
}
