use super::super::append::Append;
use super::super::lane::Lane;
use crate::decide::{Change, NewEvent, OpenSpace, bound_cluster, declared_members};
use crate::event::Kind;

impl Lane {
    /// Side records that the database does not have yet.
    pub(super) fn add_notes(&self, append: &mut Append, events: &[(NewEvent, u64)]) {
        let mut windows: Vec<(i32, address::Window, u64)> = Vec::new();
        let mut clusters = Vec::new();
        let mut declared = Vec::new();
        let mut forget = Vec::new();
        let mut keeps = Vec::new();
        for (event, seq) in events {
            if let Change::Hold(hold) = &event.change {
                let id = self.state.spaces.get(event.space).id;
                let known = self.state.pools.find_window(event.space, &hold.window);
                if let (Some(keep), Some((ip, _))) = (hold.keep, event.target) {
                    keeps.push((id, ip, *seq, keep));
                }
                let is_new = known.is_none_or(|known| !known.persisted)
                    && !windows
                        .iter()
                        .any(|(of, window, _)| *of == id && *window == hold.window);
                if is_new {
                    windows.push((id, hold.window.clone(), *seq));
                }
                if self.state.order.is_known_tombstone(hold.attachment) {
                    forget.push(hold.attachment);
                }
            }
            match event.payload.kind {
                Kind::ClusterBound => {
                    let bound = bound_cluster(&event.payload);
                    clusters.extend(bound.map(|(name, uid)| (name.to_owned(), uid.to_owned())));
                }
                Kind::SpaceDeclared => declared.push(OpenSpace {
                    name: self.state.spaces.get(event.space).name.clone(),
                    private: None,
                    members: declared_members(&event.payload),
                }),
                _ => {}
            }
        }
        append.add_windows(&windows);
        append.add_clusters(&clusters);
        append.add_spaces(&declared);
        append.forget(&forget);
        append.add_keeps(&keeps);
    }

    /// The notes of these events are in the database.
    pub(super) fn set_persisted(&mut self, events: &[(NewEvent, u64)]) {
        for (event, _) in events {
            if let Change::Hold(hold) = &event.change {
                self.state.pools.set_persisted(event.space, &hold.window);
                self.state.order.unbury(hold.attachment);
            }
        }
    }
}
