//! `ipledgerctl`: parse, run, exit.

fn main() -> std::process::ExitCode {
    ipledgerctl::main()
}
