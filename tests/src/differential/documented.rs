//! The differences that docs/compatibility.md names.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};

/// The ids of its headings: `### C-07 ...` is `C-07`.
pub fn ids() -> Result<BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compatibility.md");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let id = |line: &str| {
        let heading = line.strip_prefix("### ")?;
        let (id, _) = heading.split_once(' ')?;
        id.starts_with("C-").then(|| id.to_owned())
    };
    Ok(text.lines().filter_map(id).collect())
}
