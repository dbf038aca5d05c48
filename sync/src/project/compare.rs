//! What differs between the ledger and the objects, for people and programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::discrepancy::{Discrepancy, discrepancies};
use super::plan::{StoredObjects, plan};
use super::reading::Reading;
use super::render::render;
use crate::table::table;

/// All differences, at one position per space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// Position by space.
    pub as_of: BTreeMap<String, u64>,
    /// How many objects show the ledger's holds, or should.
    pub objects: usize,
    /// Objects that show something else than the ledger. One that is right but was not written
    /// by this program is none of them.
    pub differences: Vec<ObjectDifference>,
    /// Objects of a foreign shape: object, what cannot be read.
    pub unreadable: Vec<(String, String)>,
}

/// What differs in one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ObjectDifference {
    /// `<kind> <name>`.
    pub object: String,
    /// Entry by entry.
    pub entries: Vec<Discrepancy>,
}

impl Comparison {
    /// Compares what a reading makes with what is stored.
    #[must_use]
    pub fn of(reading: &Reading, stored: &StoredObjects) -> Comparison {
        let desired = render(reading);
        let plan = plan(&desired, stored, |_| false);
        let differences = plan.writes.iter().map(|write| ObjectDifference {
            object: write.key.to_string(),
            entries: discrepancies(
                desired.objects.get(&write.key),
                stored.get(&write.key),
                &desired.position,
            ),
        });
        let unreadable = plan
            .skipped
            .iter()
            .map(|(key, why)| (key.to_string(), why.clone()));
        Comparison {
            as_of: reading.as_of(),
            objects: desired.objects.len(),
            // An object whose annotations alone are missing or old shows the right holds.
            differences: differences
                .filter(|object| !object.entries.is_empty())
                .collect(),
            unreadable: unreadable.collect(),
        }
    }

    /// A table of the differences, and a line that sums them up.
    #[must_use]
    pub fn text(&self) -> String {
        let rows: Vec<[String; 4]> = self
            .differences
            .iter()
            .flat_map(|object| {
                object.entries.iter().map(|entry| {
                    let held = entry.ledger.as_ref().map(|fact| {
                        format!("{} {} {}", fact.podref, fact.ifname, fact.container_id)
                    });
                    let or_nothing = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
                    [
                        object.object.clone(),
                        entry.entry.clone(),
                        or_nothing(entry.object.clone()),
                        or_nothing(held),
                    ]
                })
            })
            .collect();
        let mut text = match rows.is_empty() {
            true => String::new(),
            false => {
                table(
                    ["OBJECT", "ENTRY", "THE OBJECT SHOWS", "THE LEDGER SAYS"],
                    &rows,
                ) + "\n"
            }
        };
        for (object, why) in &self.unreadable {
            text.push_str(&format!("{object} cannot be read: {why}\n"));
        }
        let positions = self.as_of.iter();
        let positions: Vec<String> = positions
            .map(|(space, seq)| format!("{space}@{seq}"))
            .collect();
        text.push_str(&format!(
            "{} objects show the ledger's holds as of {}; {} differ\n",
            self.objects,
            positions.join(", "),
            self.differences.len()
        ));
        text
    }

    /// Whether every object shows exactly what the ledger says.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.unreadable.is_empty()
    }
}
