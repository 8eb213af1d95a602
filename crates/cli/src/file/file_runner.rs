//! The transfers of a command as they are carried out: each shown, its progress on a terminal.

use super::args::FileArgs;
use super::campaign::{NotBegun, TransferCarrier, TransferPlace};
use super::cells::ChosenCell;
use super::destination::LocalDestination;
use super::file_content::FileContent;
use super::measured::TransferMeasured;
use super::plan::{planned_content, transfer_plan};
use super::prepared_contents::PreparedContents;
use super::progress::FileProgress;
use super::transfer_run::run_transfer;
use crate::output::transfers::headline;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use caudal_core::event::{Event, View};
use caudal_core::plan::TransferPlan;
use caudal_core::transfer::TransferCell;
use caudal_engine::{LocalOptions, PreparedContent, RunError, TransferLocalOptions};
use caudal_sys::signal::Interrupt;
use caudal_wire::message::Refusal;
use std::sync::atomic::Ordering::Relaxed;

/// The transfers of a command as they are carried out.
pub(super) struct FileRunner<'a> {
    pub(super) peer: &'a mut CommandPeer,
    pub(super) args: &'a FileArgs,
    pub(super) contents: &'a [FileContent],
    pub(super) cells: &'a [ChosenCell],
    /// The same as documents have them.
    pub(super) named_cells: &'a [TransferCell],
    pub(super) seed: u64,
    pub(super) prepared: PreparedContents<'a>,
    pub(super) destination: &'a LocalDestination,
    pub(super) local: LocalOptions,
    pub(super) views: &'a mut Views,
    pub(super) progress: FileProgress,
    pub(super) interrupt: &'static Interrupt,
    /// `true` when the server has refused a transfer, which ends its session.
    pub(super) is_disconnected: bool,
}

impl TransferCarrier for FileRunner<'_> {
    fn carry(
        &mut self,
        cell: usize,
        place: TransferPlace,
        left: &[u32],
    ) -> Result<TransferMeasured, NotBegun> {
        self.progress.begin(&self.named_cells[cell], place, left);
        if std::mem::take(&mut self.is_disconnected) {
            *self.peer = CommandPeer::connect_for_files(&self.args.target, self.interrupt)?;
        }
        let content = match self.prepared.get(self.cells[cell].content) {
            Ok(content) => content,
            Err(error) => return self.refused(cell, RunError::File(error)),
        };
        let plan = self.plan(cell, content.as_ref());
        self.local.transfer = TransferLocalOptions {
            content,
            store: self.destination.store.clone(),
            store_as: self.destination.store_as.clone(),
            served: None,
        };
        let measured = match self.run(plan, place) {
            Ok(measured) => measured,
            Err(error) => return self.refused(cell, error),
        };
        self.progress.end(cell);
        self.show(cell, place, &measured);
        Ok(measured)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.count() > 0 || self.local.quit.load(Relaxed)
    }
}

impl FileRunner<'_> {
    /// The plan of a transfer of this cell.
    fn plan(&self, cell: usize, content: Option<&PreparedContent>) -> TransferPlan {
        let cell = &self.cells[cell];
        let content = content.map_or_else(
            || planned_content(self.args, &self.contents[cell.content], self.seed),
            PreparedContent::content,
        );
        let same_machine = self.peer.info().is_same_machine;
        let plan = transfer_plan(self.args, cell, content, same_machine);
        let destination = self.destination;
        match &destination.store {
            Some(store) if plan.resume => store.resume(plan, destination.store_as.as_deref()),
            _ => plan,
        }
    }

    fn run(
        &mut self,
        plan: TransferPlan,
        place: TransferPlace,
    ) -> Result<TransferMeasured, RunError> {
        let (views, progress) = (&mut *self.views, &self.progress);
        let quit = &self.local.quit;
        run_transfer(self.peer, plan, &self.local, &mut |event| {
            match &event {
                Event::Transfer(at) => progress.advance(*at),
                Event::Agreed(_) | Event::Started { .. } if place != TransferPlace::WarmUp => {
                    views.event(&event);
                }
                _ => {}
            }
            if views.is_unread() {
                quit.store(true, Relaxed);
            }
        })
    }

    /// The result of a transfer that did not begin: where several files are transferred, one that is refused is no reason to leave the
    /// others out.
    fn refused(&mut self, cell: usize, error: RunError) -> Result<TransferMeasured, NotBegun> {
        let is_of_file = matches!(
            error,
            RunError::File(_)
                | RunError::LargeFile { .. }
                | RunError::Refused {
                    reason: Refusal::File,
                    ..
                }
        );
        if !is_of_file || self.contents.len() < 2 {
            return Err(error.into());
        }
        self.is_disconnected = true;
        let plan = self.plan(cell, None);
        let measured = TransferMeasured::refused(plan, &error.to_string());
        self.progress.end(cell);
        self.show(cell, TransferPlace::Block(1), &measured);
        Ok(measured)
    }

    /// Shows a transfer that is over.
    fn show(&mut self, cell: usize, place: TransferPlace, measured: &TransferMeasured) {
        let (views, cell) = (&mut *self.views, &self.named_cells[cell]);
        let is_verbose = self.args.output.verbose;
        self.progress.suspend(|| {
            if is_verbose {
                let block = match place {
                    TransferPlace::WarmUp => "discarded".to_owned(),
                    TransferPlace::Block(block) => format!("block {block}"),
                };
                let line = headline(cell, &measured.summary);
                views.note(&format!("{block}, {line}"));
            }
            if place != TransferPlace::WarmUp {
                views.event(&Event::Transferred {
                    transfer: Box::new(measured.record.clone()),
                });
            }
        });
    }
}
