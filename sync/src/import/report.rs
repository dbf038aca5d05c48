//! The report of an import, for people and programs.

use serde::Serialize;

use super::analysis::Analysis;
use super::submit::Submitted;
use crate::table::table;

/// What was read, what was odd about it, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Name of the cluster in the ledger.
    pub cluster: String,
    /// What the objects say.
    #[serde(flatten)]
    pub analysis: Analysis,
    /// How many holds are to be imported.
    pub to_import: usize,
    /// What became of them; absent if nothing was given to the ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub submitted: Option<Submitted>,
}

impl Report {
    /// About an analysis that was, or was not, carried out.
    #[must_use]
    pub fn new(cluster: &str, analysis: Analysis, submitted: Option<Submitted>) -> Report {
        Report {
            cluster: cluster.to_owned(),
            to_import: analysis.holds.len(),
            analysis,
            submitted,
        }
    }

    /// Whether everything that was read fits, and is in the ledger.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let refused = self
            .submitted
            .as_ref()
            .map(|submitted| submitted.refused.len());
        self.analysis.findings.is_empty() && refused.unwrap_or(0) == 0
    }

    /// Tables, and lines that sum them up.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let findings = &self.analysis.findings;
        if !findings.is_empty() {
            text.push_str(&self.findings());
            text.push('\n');
        }
        let refused = self
            .submitted
            .iter()
            .flat_map(|submitted| &submitted.refused);
        let refused: Vec<[String; 4]> = refused
            .map(|refused| {
                let refused = refused.clone();
                [refused.address, refused.code, refused.from, refused.detail]
            })
            .collect();
        if !refused.is_empty() {
            text.push_str(&table(["REFUSED", "CODE", "FROM", "DETAIL"], &refused));
            text.push('\n');
        }
        text.push_str(&self.summary());
        text
    }

    fn findings(&self) -> String {
        let rows: Vec<[String; 7]> = self
            .analysis
            .findings
            .iter()
            .map(|finding| {
                let or_dash =
                    |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                [
                    finding.kind.as_str().to_owned(),
                    finding.object.clone(),
                    or_dash(&finding.key),
                    or_dash(&finding.address),
                    or_dash(&finding.podref),
                    finding.outcome.as_str().to_owned(),
                    finding.detail.clone(),
                ]
            })
            .collect();
        let head = [
            "FINDING", "OBJECT", "KEY", "ADDRESS", "POD", "OUTCOME", "DETAIL",
        ];
        table(head, &rows)
    }

    fn summary(&self) -> String {
        let Analysis {
            pools,
            entries,
            reservations,
            nodes_not_ready,
            findings,
            ..
        } = &self.analysis;
        let mut text = format!(
            "cluster {}: {pools} pools, {entries} entries, {reservations} reservations read; \
             {} findings; {} holds to import\n",
            self.cluster,
            findings.len(),
            self.to_import,
        );
        if !nodes_not_ready.is_empty() {
            text.push_str(&format!(
                "not ready: {}; entries of pods that are gone are imported, since they may still \
                 run there\n",
                nodes_not_ready.join(", ")
            ));
        }
        match &self.submitted {
            None => text.push_str("nothing was given to the ledger\n"),
            Some(submitted) => text.push_str(&format!(
                "{} imported, {} were there, {} had ended since an earlier import, {} refused\n",
                submitted.imported,
                submitted.held,
                submitted.ended.len(),
                submitted.refused.len(),
            )),
        }
        text
    }
}
