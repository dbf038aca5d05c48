//! What `ipledger-api dev` says.

use std::fmt::Write as _;

use ledger::Migrated;

use crate::listen::ListenAddress;

/// `the schema is at version 6 (6 migrations applied)`.
pub(crate) fn migrated_in_words(migrated: &Migrated) -> String {
    let applied = match migrated.applied {
        0 => "nothing to apply".to_owned(),
        1 => "1 migration applied".to_owned(),
        count => format!("{count} migrations applied"),
    };
    format!("the schema is at version {} ({applied})", migrated.version)
}

/// Where it listens, and what to try.
pub(super) fn ready(addresses: &[ListenAddress], psql: &str) -> String {
    let mut text = String::new();
    for address in addresses {
        let _ = match address {
            ListenAddress::Tcp(address) => {
                writeln!(text, "ipledger-api listens on http://{address}")
            }
            ListenAddress::Unix(_) => writeln!(text, "ipledger-api listens on {address}"),
        };
    }
    let Some(first) = addresses.first() else {
        return text;
    };
    let curl = match first {
        ListenAddress::Tcp(address) => format!("curl http://{address}"),
        ListenAddress::Unix(path) => {
            format!("curl --unix-socket {} http://localhost", path.display())
        }
    };
    let events = format!("{curl}/v1/events?space=dev").replace("http://", "'http://") + "'";
    let _ = write!(
        text,
        "
Ask for an address:
  {curl}/v1/allocate -H 'Content-Type: application/json' -d '{{
    \"attachment\": {{\"cluster\": \"dev\", \"network\": \"try\", \"container_id\": \"4fe2a1\", \
         \"ifname\": \"net1\"}},
    \"ranges\": [{{\"range\": \"10.10.3.0/24\"}}]}}'
See what was recorded:
  {events}
Look into the database:
  psql '{psql}'
"
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_fits_the_first_address() {
        let tcp = "127.0.0.1:8311".parse().unwrap();
        let unix = "unix:/tmp/s".parse().unwrap();
        let text = ready(&[tcp, unix], "postgres://x");
        assert!(text.starts_with(
            "ipledger-api listens on http://127.0.0.1:8311\nipledger-api listens on unix:/tmp/s\n"
        ));
        assert!(
            text.contains("  curl http://127.0.0.1:8311/v1/allocate "),
            "{text}"
        );
        let unix = "unix:/tmp/s".parse().unwrap();
        assert!(ready(&[unix], "").contains("curl --unix-socket /tmp/s http://localhost/v1/"));
    }

    #[test]
    fn migrations_are_counted_in_words() {
        let words = |applied| {
            migrated_in_words(&Migrated {
                applied,
                version: 6,
            })
        };
        assert_eq!(words(0), "the schema is at version 6 (nothing to apply)");
        assert_eq!(words(1), "the schema is at version 6 (1 migration applied)");
        assert_eq!(
            words(6),
            "the schema is at version 6 (6 migrations applied)"
        );
    }
}
