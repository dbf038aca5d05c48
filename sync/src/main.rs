//! The program `ipledger-sync`; see `ipledger-sync --help`.

fn main() -> std::process::ExitCode {
    ipledger_sync::cli::main()
}
