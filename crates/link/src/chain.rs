//! Cells one behind the other.

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, Report, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// Cells in a row; what comes out of one goes into the next at the same moment. Without cells, a wire of no length.
#[derive(Debug, Default)]
pub struct Chain {
    cells: Vec<Box<dyn Cell>>,
    offered: Traffic,
    delivered: Traffic,
    /// What goes from one cell to the next, kept to save allocations.
    between: [Vec<Delivery>; 2],
}

impl Chain {
    /// No cells yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same chain with `cell` at its end.
    #[must_use]
    pub fn then(mut self, cell: impl Cell + 'static) -> Self {
        self.cells.push(Box::new(cell));
        self
    }

    /// Puts `cell` at the end.
    pub fn push(&mut self, cell: Box<dyn Cell>) {
        self.cells.push(cell);
    }

    /// The next event and the cell it belongs to.
    fn next(&self) -> Option<(Moment, usize)> {
        self.cells
            .iter()
            .enumerate()
            .filter_map(|(index, cell)| cell.next_event().map(|at| (at, index)))
            .min()
    }

    /// Passes what came out before cell `from` through it and all behind it.
    fn pass(&mut self, from: usize, out: &mut Vec<Delivery>) {
        let [before, after] = &mut self.between;
        for cell in &mut self.cells[from..] {
            if before.is_empty() {
                return;
            }
            for Delivery { at, frame } in before.drain(..) {
                cell.offer(at, frame, after);
            }
            std::mem::swap(before, after);
        }
        for delivery in before.drain(..) {
            self.delivered.count(&delivery.frame);
            out.push(delivery);
        }
    }
}

impl Cell for Chain {
    fn kind(&self) -> &'static str {
        "chain"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.offered.count(&frame);
        self.between[0].push(Delivery { at: now, frame });
        self.pass(0, out);
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters {
            offered: self.offered,
            delivered: self.delivered,
            ..Counters::default()
        };
        for cell in &self.cells {
            counters.take_in(&cell.counters());
        }
        counters
    }

    fn next_event(&self) -> Option<Moment> {
        self.cells.iter().filter_map(|cell| cell.next_event()).min()
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while let Some((at, index)) = self.next().filter(|(at, _)| *at <= now) {
            let [before, _] = &mut self.between;
            self.cells[index].advance(at, before);
            self.pass(index + 1, out);
        }
    }

    fn held(&self) -> Traffic {
        let mut held = Traffic::default();
        for cell in &self.cells {
            held += cell.held();
        }
        held
    }

    fn report(&self, now: Moment) -> Report {
        Report {
            parts: self.cells.iter().map(|cell| cell.report(now)).collect(),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    /// Pauses the first cell that sends by itself: the one nearest to whoever is asked to hold back.
    fn pause(&mut self, now: Moment, quanta: u16) -> bool {
        self.cells.iter_mut().any(|cell| cell.pause(now, quanta))
    }

    /// Changes the first cell that has `setting`.
    fn set(&mut self, now: Moment, setting: Setting) -> Result<bool, LinkError> {
        for cell in &mut self.cells {
            if cell.set(now, setting)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
