//! Spaces that must exist before anything can be appended to them.

use super::super::append::Append;
use super::super::lane::{Lane, Pending};
use super::Attempt;
use crate::decide::OpenSpace;

impl Lane {
    /// Open spaces that a request needs, then decide again.
    pub(super) async fn open_spaces(&mut self, batch: Vec<Pending>, open: &[OpenSpace]) -> Attempt {
        let mut append = Append::new([]);
        append.add_spaces(open);
        match self.send(&append).await {
            Ok(_) => Attempt::Again(batch),
            Err(failure) => self.fail(batch, failure),
        }
    }
}
