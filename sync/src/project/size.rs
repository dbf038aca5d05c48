//! How much fits one object.

/// The largest pool that is written, in bytes by [`entry_bytes`]. etcd refuses requests above
/// 1.5 MiB by default. About 4,900 typical entries fit, so a /20 always does. In a larger pool
/// the entries with the lowest offsets are shown, and an annotation says how many are not; their
/// reservations are there all the same.
pub const LARGEST_POOL_BYTES: usize = 5 * 1024 * 1024 / 4;

/// What an entry costs besides its texts: JSON punctuation and names (40 bytes), and the record
/// of who manages its fields, twice, because what whereabouts wrote stays under its name too.
const ENTRY_OVERHEAD_BYTES: usize = 40 + 2 * 52;

/// The key is in the entry and in both records.
const KEY_COPIES: usize = 3;

/// What one entry adds to an object at most, in bytes.
#[must_use]
pub fn entry_bytes(key: &str, container_id: &str, podref: &str, ifname: &str) -> usize {
    ENTRY_OVERHEAD_BYTES + KEY_COPIES * key.len() + container_id.len() + podref.len() + ifname.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_20_of_typical_entries_fits() {
        let id = "a".repeat(64);
        let podref = format!("{}/{}", "n".repeat(16), "p".repeat(23));
        let entry = entry_bytes("4094", &id, &podref, "net1");
        assert!(4094 * entry < LARGEST_POOL_BYTES);
        assert!(LARGEST_POOL_BYTES / entry > 4_800);
    }
}
