//! Who is told what happens in a measurement, and who may end it.

use crate::file::TransferPlace;
use crate::throughput::DirectionGoodputs;
use caudal_core::event::{Event, View};
use caudal_core::transfer::{TransferCell, TransferSummary};
use caudal_engine::StartedRun;
use caudal_sys::signal::Interrupt;

/// Who is told what happens in a measurement, while it happens.
pub trait Observer: View {
    /// `true` when nobody reads the result any more: the measurement ends without one.
    fn is_unread(&self) -> bool {
        false
    }

    /// Takes the end of run `number` of several, with the goodput of each run that was completed.
    fn run_ended(&mut self, _number: u32, _goodputs: &[DirectionGoodputs]) {}

    /// Takes the beginning of a file transfer of this cell, with the transfers that are left of each cell, this one included.
    fn transfer_begins(&mut self, _cell: &TransferCell, _place: TransferPlace, _left: &[u32]) {}

    /// Takes the end of a file transfer of this cell, with its position, before the event of it.
    fn transfer_ended(
        &mut self,
        _cell: (usize, &TransferCell),
        _place: TransferPlace,
        _summary: &TransferSummary,
    ) {
    }

    /// Takes the news that the test under way ends without a result.
    fn abandoned(&mut self) {}
}

/// An observer that looks at nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct SilentObserver;

impl View for SilentObserver {
    fn event(&mut self, _event: &Event) {}
}

impl Observer for SilentObserver {}

/// What a measurement is carried out for: its identity, who watches it, and who may end it.
pub struct MeasureControl<'a> {
    /// The identity of its run.
    pub started: &'a StartedRun,
    /// Who is told what happens.
    pub observer: &'a mut dyn Observer,
    /// The user's wish to end it.
    pub interrupt: &'static Interrupt,
}
