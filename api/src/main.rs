//! The program `ipledger-api`; see `ipledger-api --help`.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    ipledger_api::cli::main()
}
