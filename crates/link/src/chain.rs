//! Cells one behind the other.

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, Report, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::Moment;

/// Cells in a row; what comes out of one goes into the next at the same moment. Without cells, a wire of no length.
#[derive(Debug)]
pub struct Chain {
    cells: Vec<Box<dyn Cell>>,
    /// Each cell's next event, kept so that only cells that frames pass are asked.
    next: Vec<Moment>,
    /// The first of them.
    first: Moment,
    offered: Traffic,
    delivered: Traffic,
    /// What goes from one cell to the next, kept to save allocations.
    between: [Vec<Delivery>; 2],
}

/// No event: no later moment can be told.
const NEVER: Moment = Moment::from_ns(u64::MAX);

impl Default for Chain {
    fn default() -> Self {
        Self {
            cells: Vec::new(),
            next: Vec::new(),
            first: NEVER,
            offered: Traffic::default(),
            delivered: Traffic::default(),
            between: [Vec::new(), Vec::new()],
        }
    }
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
        self.push(Box::new(cell));
        self
    }

    /// Puts `cell` at the end.
    pub fn push(&mut self, cell: Box<dyn Cell>) {
        self.next.push(NEVER);
        self.cells.push(cell);
        self.ask_all();
    }

    fn ask_all(&mut self) {
        for (next, cell) in self.next.iter_mut().zip(&self.cells) {
            *next = cell.next_event().unwrap_or(NEVER);
        }
        self.find_first();
    }

    fn find_first(&mut self) {
        self.first = self.next.iter().copied().min().unwrap_or(NEVER);
    }

    /// Passes what came out before cell `from` through it and all behind it.
    fn pass(&mut self, from: usize, out: &mut Vec<Delivery>) {
        let [before, after] = &mut self.between;
        for (cell, next) in self.cells[from..].iter_mut().zip(&mut self.next[from..]) {
            if before.is_empty() {
                return;
            }
            for Delivery { at, frame } in before.drain(..) {
                cell.offer(at, frame, after);
            }
            *next = cell.next_event().unwrap_or(NEVER);
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
        self.find_first();
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
        (self.first < NEVER).then_some(self.first)
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while self.first <= now && self.first < NEVER {
            let at = self.first;
            // Of cells with an event at one moment the nearest is first.
            let Some(index) = self.next.iter().position(|next| *next == at) else {
                return;
            };
            let [before, _] = &mut self.between;
            let cell = &mut self.cells[index];
            cell.advance(at, before);
            self.next[index] = cell.next_event().unwrap_or(NEVER);
            self.pass(index + 1, out);
            self.find_first();
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
        let paused = self.cells.iter_mut().any(|cell| cell.pause(now, quanta));
        self.ask_all();
        paused
    }

    /// Changes the first cell that has `setting`.
    fn set(&mut self, now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let mut changed = Ok(false);
        for cell in &mut self.cells {
            changed = cell.set(now, setting);
            if changed != Ok(false) {
                break;
            }
        }
        self.ask_all();
        changed
    }
}
