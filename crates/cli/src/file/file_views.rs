//! The views of file transfers, with their progress on a terminal.

use super::progress::FileProgress;
use crate::output::views::Views;
use caudal_core::event::{Event, View};
use caudal_core::transfer::{TransferCell, TransferSummary};
use caudal_measure::{Observer, TransferPlace};
use caudal_views::transfers::headline;

/// The views of file transfers, with their progress on a terminal.
pub(super) struct FileViews<'a> {
    pub(super) views: &'a mut Views,
    pub(super) progress: FileProgress,
    /// `true` to show each transfer as it ends.
    pub(super) is_verbose: bool,
}

impl View for FileViews<'_> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Transfer(at) => {
                self.progress.advance(*at);
                if self.views.has_screen() {
                    self.views.event(event);
                }
            }
            event @ Event::Transferred { .. } => {
                let views = &mut *self.views;
                self.progress.suspend(|| views.event(event));
            }
            event => self.views.event(event),
        }
    }
}

impl Observer for FileViews<'_> {
    fn is_unread(&self) -> bool {
        self.views.is_unread()
    }

    fn transfer_begins(&mut self, cell: &TransferCell, place: TransferPlace, left: &[u32]) {
        self.progress.begin(cell, place, left);
    }

    fn transfer_ended(
        &mut self,
        (at, cell): (usize, &TransferCell),
        place: TransferPlace,
        summary: &TransferSummary,
    ) {
        self.progress.end(at);
        if !self.is_verbose {
            return;
        }
        let block = match place {
            TransferPlace::WarmUp => "discarded".to_owned(),
            TransferPlace::Block(block) => format!("block {block}"),
        };
        let views = &mut *self.views;
        let line = format!("{block}, {}", headline(cell, summary));
        self.progress.suspend(|| views.note(&line));
    }

    fn abandoned(&mut self) {
        self.views.abandon();
    }
}
