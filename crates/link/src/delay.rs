//! Constant delay.

use std::collections::VecDeque;
use std::time::Duration;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::{SimTime, duration_to_ns};

/// A constant delay, such as that of a cable; frames keep their order when it changes.
#[derive(Debug)]
pub struct Delay {
    delay_ns: u64,
    in_flight: VecDeque<TimedFrame>,
    counters: FrameCounters,
}

impl Delay {
    /// A delay of `delay` for every frame.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self {
            delay_ns: duration_to_ns(delay),
            in_flight: VecDeque::new(),
            counters: FrameCounters::default(),
        }
    }
}

impl Stage for Delay {
    fn kind(&self) -> &'static str {
        "delay"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.counters.offered.add(&frame);
        let previous = self.in_flight.back().map_or(SimTime::START, |last| last.at);
        let at = now.plus_ns(self.delay_ns).max(previous);
        self.in_flight.push_back(TimedFrame { at, frame });
        self.advance(now, out);
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<SimTime> {
        self.in_flight.front().map(|first| first.at)
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(delivery) = self.in_flight.pop_front()
        {
            self.counters.delivered.add(&delivery.frame);
            out.push(delivery);
        }
    }

    fn held(&self) -> FrameTotals {
        self.in_flight
            .iter()
            .map(|delivery| &delivery.frame)
            .collect()
    }

    fn set(&mut self, _now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Delay(delay) = setting else {
            return Ok(false);
        };
        self.delay_ns = duration_to_ns(delay);
        Ok(true)
    }
}
