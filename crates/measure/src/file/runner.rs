//! The transfers as they are carried out.

use super::campaign::{NotBegun, TransferCarrier, TransferPlace};
use super::prepared_contents::PreparedContents;
use super::request::FileRequest;
use super::transfer_measured::TransferMeasured;
use crate::control::Observer;
use crate::test_peer::TestPeer;
use caudal_analysis::link::tcp_ceiling;
use caudal_core::event::Event;
use caudal_core::plan::{Plan, TransferContent, TransferPlan};
use caudal_core::transfer::TransferCell;
use caudal_engine::{LocalOptions, PreparedContent, RunError, TransferLocalOptions};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::signal::Interrupt;
use caudal_wire::message::Refusal;
use std::sync::atomic::Ordering::Relaxed;

/// The transfers of a request as they are carried out.
pub(super) struct FileRunner<'a> {
    pub(super) peer: &'a mut TestPeer,
    pub(super) request: &'a FileRequest,
    /// The cells as documents have them.
    pub(super) named_cells: &'a [TransferCell],
    pub(super) prepared: PreparedContents<'a>,
    pub(super) local: LocalOptions,
    pub(super) observer: &'a mut dyn Observer,
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
        let named = &self.named_cells[cell];
        self.observer.transfer_begins(named, place, left);
        if std::mem::take(&mut self.is_disconnected) {
            self.peer.reconnect(&self.request.server, self.interrupt)?;
        }
        let chosen = &self.request.cells[cell];
        let direction = chosen.plan.direction;
        let from_file = matches!(
            chosen.plan.content,
            TransferContent::Generated {
                from_file: true,
                ..
            }
        );
        let content = match self.prepared.get(chosen.content, direction, from_file) {
            Ok(content) => content,
            Err(error) => return self.refused(cell, RunError::File(error)),
        };
        let plan = self.plan(cell, content.as_ref());
        self.local.transfer = TransferLocalOptions {
            content,
            store: self.request.destination.store.clone(),
            store_as: self.request.destination.store_as.clone(),
            served: None,
        };
        let measured = match self.run(plan, place) {
            Ok(measured) => measured,
            Err(error) => return self.refused(cell, error),
        };
        self.show(cell, place, &measured);
        Ok(measured)
    }

    fn is_interrupted(&self) -> bool {
        self.interrupt.count() > 0 || self.local.quit.load(Relaxed)
    }
}

impl FileRunner<'_> {
    /// `true` when the transfers are of several protocols.
    fn compares_protocols(&self) -> bool {
        let mut protocols = self.named_cells.iter().map(TransferCell::protocol);
        let first = protocols.next();
        protocols.any(|protocol| Some(protocol) != first)
    }

    /// The plan of a transfer of this cell.
    fn plan(&self, cell: usize, content: Option<&PreparedContent>) -> TransferPlan {
        let mut plan = self.request.cells[cell].plan.clone();
        if let Some(content) = content {
            plan.content = content.content();
        }
        plan.same_machine = self.peer.info().is_same_machine;
        let destination = &self.request.destination;
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
        let observer = &mut *self.observer;
        let quit = &self.local.quit;
        let (began_ns, from_ns) = (realtime_ns(), monotonic_ns());
        let direction = plan.direction;
        let plan = Plan::Transfer(plan);
        let outcome = self.peer.peer_mut().run(&plan, &self.local, &mut |event| {
            let is_shown = match &event {
                Event::Transfer(_) => true,
                Event::Agreed(_) | Event::Started { .. } => place != TransferPlace::WarmUp,
                _ => false,
            };
            if is_shown {
                observer.event(&event);
            }
            if observer.is_unread() {
                quit.store(true, Relaxed);
            }
        });
        let outcome = outcome?
            .into_transfer()
            .ok_or_else(|| RunError::Protocol("no file transfer".into()))?;
        let span_ns = (from_ns, monotonic_ns());
        let info = self.peer.info();
        let ceiling = tcp_ceiling(
            (&info.client, &info.server),
            info.is_same_machine,
            direction,
            info.ip_version(),
        );
        Ok(TransferMeasured::new(outcome, began_ns, span_ns, ceiling))
    }

    /// The result of a transfer that did not begin: where several files are transferred, one that is refused is no reason to leave the
    /// others out, and where protocols are compared, one that does not get through is none to leave out the others.
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
        let is_one_of_many = match is_of_file {
            true => self.request.contents.len() > 1,
            false => self.compares_protocols() && !matches!(error, RunError::Interrupted),
        };
        if !is_one_of_many {
            return Err(error.into());
        }
        // The server may still wait for this transfer, or has ended the session with it.
        self.is_disconnected = true;
        let plan = self.plan(cell, None);
        let measured = TransferMeasured::refused(plan, &error.to_string());
        self.show(cell, TransferPlace::Block(1), &measured);
        Ok(measured)
    }

    /// Tells of a transfer that is over.
    fn show(&mut self, cell: usize, place: TransferPlace, measured: &TransferMeasured) {
        let named = (cell, &self.named_cells[cell]);
        self.observer
            .transfer_ended(named, place, &measured.summary);
        if place != TransferPlace::WarmUp {
            self.observer.event(&Event::Transferred {
                transfer: Box::new(measured.record.clone()),
            });
        }
    }
}
