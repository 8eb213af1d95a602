//! Several links side by side.

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, Report, Traffic};
use crate::error::LinkError;
use crate::frame::{Frame, scatter};
use crate::moment::Moment;

/// Which branch a frame takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Balancing {
    /// The same for all frames of a flow, by a hash with this salt.
    PerFlow {
        /// Another salt spreads the flows otherwise.
        salt: u64,
    },
    /// One after the other.
    PerFrame,
}

/// Parts frames among branches and brings them together again.
#[derive(Debug)]
pub struct Balancer {
    balancing: Balancing,
    branches: Vec<Box<dyn Cell>>,
    turn: usize,
    offered: Traffic,
    delivered: Traffic,
}

impl Balancer {
    /// Balances over `branches`.
    ///
    /// # Errors
    /// [`LinkError::NoBranches`] without any.
    pub fn new(balancing: Balancing, branches: Vec<Box<dyn Cell>>) -> Result<Self, LinkError> {
        if branches.is_empty() {
            return Err(LinkError::NoBranches);
        }
        Ok(Self {
            balancing,
            branches,
            turn: 0,
            offered: Traffic::default(),
            delivered: Traffic::default(),
        })
    }

    fn branch_of(&mut self, frame: &Frame) -> usize {
        let count = self.branches.len();
        match self.balancing {
            Balancing::PerFlow { salt } => {
                // Below the count, which is a usize.
                (scatter(frame.flow ^ salt) % count as u64) as usize
            }
            Balancing::PerFrame => {
                let branch = self.turn;
                self.turn = (self.turn + 1) % count;
                branch
            }
        }
    }
}

impl Cell for Balancer {
    fn kind(&self) -> &'static str {
        "balancer"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.offered.count(&frame);
        let branch = self.branch_of(&frame);
        let before = out.len();
        self.branches[branch].offer(now, frame, out);
        self.delivered += Traffic::of(out[before..].iter().map(|delivery| &delivery.frame));
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters {
            offered: self.offered,
            delivered: self.delivered,
            ..Counters::default()
        };
        for branch in &self.branches {
            counters.take_in(&branch.counters());
        }
        counters
    }

    fn next_event(&self) -> Option<Moment> {
        let events = self
            .branches
            .iter()
            .filter_map(|branch| branch.next_event());
        events.min()
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        let before = out.len();
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for branch in &mut self.branches {
                branch.advance(at, out);
            }
        }
        self.delivered += Traffic::of(out[before..].iter().map(|delivery| &delivery.frame));
    }

    fn held(&self) -> Traffic {
        let mut held = Traffic::default();
        for branch in &self.branches {
            held += branch.held();
        }
        held
    }

    fn report(&self, now: Moment) -> Report {
        let branches = self.branches.iter();
        Report {
            parts: branches.map(|branch| branch.report(now)).collect(),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    fn pause(&mut self, now: Moment, quanta: u16) -> bool {
        let mut paused = false;
        for branch in &mut self.branches {
            paused |= branch.pause(now, quanta);
        }
        paused
    }

    /// Changes every branch that has `setting`.
    fn set(&mut self, now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let mut changed = false;
        for branch in &mut self.branches {
            changed |= branch.set(now, setting)?;
        }
        Ok(changed)
    }
}
