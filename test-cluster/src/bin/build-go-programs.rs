//! Builds what the tests need of Go before the first test waits for it.

use anyhow::Result;
use test_cluster::{Binaries, GoProgram};

fn main() -> Result<()> {
    Binaries::find()?;
    GoProgram::Whereabouts.build()?;
    Ok(())
}
