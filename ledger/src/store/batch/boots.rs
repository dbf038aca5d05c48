//! The first calls of boots: which boot is the later must be settled before anything is decided.

use super::super::boots;
use super::super::connection::{Connection, classify, describe, is_lost};
use super::super::lane::{Lane, Pending};
use super::{Attempt, Failure};
use crate::command::Command;
use crate::error::Error;
use crate::model::Boot;

impl Lane {
    /// Make the boots of a batch known, to the database and to memory. Once per boot and replica;
    /// the one that is first writes. Only while no change waits.
    pub(super) async fn see_boots(
        &mut self,
        batch: Vec<Pending>,
        connection: &Connection,
    ) -> Attempt {
        match self.note_boots(&batch, connection).await {
            Ok(()) => Attempt::Again(batch),
            // Nothing of these requests was sent, so nothing about them is unknown.
            Err(Failure::Lost(reason)) => {
                self.connection = None;
                tracing::warn!(error = reason, "the lane cannot note boots");
                Attempt::Again(batch)
            }
            Err(failure) => self.fail(batch, failure),
        }
    }

    /// Whether a batch previews a call of a boot that memory does not know.
    pub(super) fn previews_unknown_boot(&self, batch: &[Pending]) -> bool {
        batch.iter().any(|pending| match &pending.command {
            Command::Allocate(request) if request.dry_run => request
                .token
                .is_some_and(|token| !self.state.order.is_boot_known(token.boot_id)),
            _ => false,
        })
    }

    /// A preview makes no boot known, but it must not overlook one that another replica noted.
    /// Only while no change waits.
    pub(super) async fn read_boots_of_previews(
        &mut self,
        batch: &[Pending],
        connection: &Connection,
    ) {
        if self.previews_unknown_boot(batch)
            && let Err(error) = boots::read(&connection.client, &mut self.state.order).await
        {
            // The preview is then as good as what is known here.
            tracing::warn!(error = %error, "the lane cannot read the boots");
        }
    }

    async fn note_boots(
        &mut self,
        batch: &[Pending],
        connection: &Connection,
    ) -> Result<(), Failure> {
        let client = &connection.client;
        // Another replica may have heard of them first.
        boots::read(client, &mut self.state.order)
            .await
            .map_err(Failure::Refused)?;
        let unknown = self.unknown_boots(batch);
        if unknown.is_empty() {
            return Ok(());
        }
        match boots::note(client, &unknown).await {
            Ok(()) if connection.has_warned() => return Err(Failure::Unconfirmed),
            Ok(()) => {}
            Err(error) if is_lost(&error) => return Err(Failure::Lost(describe(&error))),
            Err(error) => return Err(Failure::Refused(classify(&error))),
        }
        boots::read(client, &mut self.state.order)
            .await
            .map_err(Failure::Refused)?;
        match self.unknown_boots(batch).first() {
            None => Ok(()),
            Some(boot) => Err(Failure::Refused(Error::Inconsistent {
                table: "boots",
                row: boot.boot_id.to_string(),
                problem: "it was noted and cannot be read".to_owned(),
            })),
        }
    }

    /// In the order in which their first calls came.
    fn unknown_boots(&self, batch: &[Pending]) -> Vec<Boot> {
        let boots = batch.iter().filter_map(|pending| pending.command.boot());
        let mut unknown: Vec<Boot> = Vec::new();
        for boot in boots.filter(|boot| !self.state.order.is_boot_known(boot.boot_id)) {
            if unknown.iter().all(|known| known.boot_id != boot.boot_id) {
                unknown.push(boot);
            }
        }
        unknown
    }
}
