//! Load balancing over parallel paths.

use caudal_stats::random::mix;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::report::ComponentReport;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// The choice of a branch for each frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchSelection {
    /// The same branch for all frames of a flow, by a hash.
    FlowHash {
        /// The salt of the hash: another salt spreads the flows differently.
        salt: u64,
    },
    /// The branches in turn.
    RoundRobin,
}

/// A stage that spreads frames over branches and merges them again.
#[derive(Debug)]
pub struct Balancer {
    selection: BranchSelection,
    branches: Vec<Box<dyn Stage>>,
    /// The next branch in turn.
    next: usize,
    offered: FrameTotals,
    delivered: FrameTotals,
}

impl Balancer {
    /// Balances over `branches`.
    ///
    /// # Errors
    /// [`LinkError::NoBranches`] without any.
    pub fn new(
        selection: BranchSelection,
        branches: Vec<Box<dyn Stage>>,
    ) -> Result<Self, LinkError> {
        if branches.is_empty() {
            return Err(LinkError::NoBranches);
        }
        Ok(Self {
            selection,
            branches,
            next: 0,
            offered: FrameTotals::default(),
            delivered: FrameTotals::default(),
        })
    }

    fn select_branch(&mut self, frame: &Frame) -> usize {
        let count = self.branches.len();
        match self.selection {
            BranchSelection::FlowHash { salt } => {
                // Below the count, which is a usize.
                (mix(frame.flow ^ salt) % count as u64) as usize
            }
            BranchSelection::RoundRobin => {
                let branch = self.next;
                self.next = (self.next + 1) % count;
                branch
            }
        }
    }
}

impl Stage for Balancer {
    fn kind(&self) -> &'static str {
        "balancer"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.offered.add(&frame);
        let branch = self.select_branch(&frame);
        let before = out.len();
        self.branches[branch].offer(now, frame, out);
        self.delivered += out[before..]
            .iter()
            .map(|delivery| &delivery.frame)
            .collect();
    }

    fn counters(&self) -> FrameCounters {
        let mut counters = FrameCounters {
            offered: self.offered,
            delivered: self.delivered,
            ..FrameCounters::default()
        };
        for branch in &self.branches {
            counters.merge_inner(&branch.counters());
        }
        counters
    }

    fn next_event(&self) -> Option<SimTime> {
        let events = self
            .branches
            .iter()
            .filter_map(|branch| branch.next_event());
        events.min()
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        let before = out.len();
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for branch in &mut self.branches {
                branch.advance(at, out);
            }
        }
        self.delivered += out[before..]
            .iter()
            .map(|delivery| &delivery.frame)
            .collect();
    }

    fn held(&self) -> FrameTotals {
        let mut held = FrameTotals::default();
        for branch in &self.branches {
            held += branch.held();
        }
        held
    }

    fn report(&self, now: SimTime) -> ComponentReport {
        let branches = self.branches.iter();
        ComponentReport {
            parts: branches.map(|branch| branch.report(now)).collect(),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    fn pause(&mut self, now: SimTime, quanta: u16) -> bool {
        let mut paused = false;
        for branch in &mut self.branches {
            paused |= branch.pause(now, quanta);
        }
        paused
    }

    /// Changes `setting` in every branch that has it.
    fn set(&mut self, now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let mut changed = false;
        for branch in &mut self.branches {
            changed |= branch.set(now, setting)?;
        }
        Ok(changed)
    }
}
