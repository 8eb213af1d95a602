//! Stages in series.

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::report::ComponentReport;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// Stages in series: what leaves one enters the next at the same time. Without stages, frames pass at once.
#[derive(Debug)]
pub struct Pipeline {
    stages: Vec<Box<dyn Stage>>,
    /// The time of each stage's next event, cached so that only stages that frames pass are queried.
    next_events: Vec<SimTime>,
    /// The earliest of them.
    earliest: SimTime,
    offered: FrameTotals,
    delivered: FrameTotals,
    /// The output of one stage and of the next, kept to save allocations.
    buffers: [Vec<TimedFrame>; 2],
}

/// The time of no event.
const NEVER: SimTime = SimTime::MAX;

impl Default for Pipeline {
    fn default() -> Self {
        Self {
            stages: Vec::new(),
            next_events: Vec::new(),
            earliest: NEVER,
            offered: FrameTotals::default(),
            delivered: FrameTotals::default(),
            buffers: [Vec::new(), Vec::new()],
        }
    }
}

impl Pipeline {
    /// A pipeline without stages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same pipeline with `stage` at its end.
    #[must_use]
    pub fn then(mut self, stage: impl Stage + 'static) -> Self {
        self.push(Box::new(stage));
        self
    }

    /// Adds `stage` at the end.
    pub fn push(&mut self, stage: Box<dyn Stage>) {
        self.next_events.push(NEVER);
        self.stages.push(stage);
        self.refresh_all();
    }

    fn refresh_all(&mut self) {
        for (next, stage) in self.next_events.iter_mut().zip(&self.stages) {
            *next = stage.next_event().unwrap_or(NEVER);
        }
        self.refresh_earliest();
    }

    fn refresh_earliest(&mut self) {
        self.earliest = self.next_events.iter().copied().min().unwrap_or(NEVER);
    }

    /// Passes the frames in the first buffer through stage `from` and all behind it.
    fn pass(&mut self, from: usize, out: &mut Vec<TimedFrame>) {
        let [input, output] = &mut self.buffers;
        for (stage, next) in self.stages[from..]
            .iter_mut()
            .zip(&mut self.next_events[from..])
        {
            if input.is_empty() {
                return;
            }
            for TimedFrame { at, frame } in input.drain(..) {
                stage.offer(at, frame, output);
            }
            *next = stage.next_event().unwrap_or(NEVER);
            std::mem::swap(input, output);
        }
        for delivery in input.drain(..) {
            self.delivered.add(&delivery.frame);
            out.push(delivery);
        }
    }
}

impl Stage for Pipeline {
    fn kind(&self) -> &'static str {
        "chain"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.offered.add(&frame);
        self.buffers[0].push(TimedFrame { at: now, frame });
        self.pass(0, out);
        self.refresh_earliest();
    }

    fn counters(&self) -> FrameCounters {
        let mut counters = FrameCounters {
            offered: self.offered,
            delivered: self.delivered,
            ..FrameCounters::default()
        };
        for stage in &self.stages {
            counters.merge_inner(&stage.counters());
        }
        counters
    }

    fn next_event(&self) -> Option<SimTime> {
        (self.earliest < NEVER).then_some(self.earliest)
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        while self.earliest <= now && self.earliest < NEVER {
            let at = self.earliest;
            // Of simultaneous events that of the first stage comes first.
            let Some(index) = self.next_events.iter().position(|next| *next == at) else {
                return;
            };
            let [input, _] = &mut self.buffers;
            let stage = &mut self.stages[index];
            stage.advance(at, input);
            self.next_events[index] = stage.next_event().unwrap_or(NEVER);
            self.pass(index + 1, out);
            self.refresh_earliest();
        }
    }

    fn held(&self) -> FrameTotals {
        let mut held = FrameTotals::default();
        for stage in &self.stages {
            held += stage.held();
        }
        held
    }

    fn report(&self, now: SimTime) -> ComponentReport {
        ComponentReport {
            parts: self.stages.iter().map(|stage| stage.report(now)).collect(),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    /// Pauses the first stage that transmits, which is nearest to the sender.
    fn pause(&mut self, now: SimTime, quanta: u16) -> bool {
        let paused = self.stages.iter_mut().any(|stage| stage.pause(now, quanta));
        self.refresh_all();
        paused
    }

    /// Changes `setting` in the first stage that has it.
    fn set(&mut self, now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let mut changed = Ok(false);
        for stage in &mut self.stages {
            changed = stage.set(now, setting);
            if changed != Ok(false) {
                break;
            }
        }
        self.refresh_all();
        changed
    }
}
