//! The program `ipledger-api`; see `ipledger-api --help`.

fn main() -> std::process::ExitCode {
    ipledger_api::cli::main()
}
