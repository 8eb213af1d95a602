//! The same time for every frame.

use std::collections::VecDeque;
use std::time::Duration;

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, Traffic};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::{Moment, whole_ns};

/// A constant delay, such as that of a cable; order is kept when it changes.
#[derive(Debug)]
pub struct Delay {
    delay_ns: u64,
    underway: VecDeque<Delivery>,
    counters: Counters,
}

impl Delay {
    /// Delivers every frame `delay` after it came.
    #[must_use]
    pub fn new(delay: Duration) -> Self {
        Self {
            delay_ns: whole_ns(delay),
            underway: VecDeque::new(),
            counters: Counters::default(),
        }
    }
}

impl Cell for Delay {
    fn kind(&self) -> &'static str {
        "delay"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.offered.count(&frame);
        let before = self.underway.back().map_or(Moment::START, |last| last.at);
        let at = now.plus_ns(self.delay_ns).max(before);
        self.underway.push_back(Delivery { at, frame });
        self.advance(now, out);
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<Moment> {
        self.underway.front().map(|first| first.at)
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(delivery) = self.underway.pop_front()
        {
            self.counters.delivered.count(&delivery.frame);
            out.push(delivery);
        }
    }

    fn held(&self) -> Traffic {
        Traffic::of(self.underway.iter().map(|delivery| &delivery.frame))
    }

    fn set(&mut self, _now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Delay(delay) = setting else {
            return Ok(false);
        };
        self.delay_ns = whole_ns(delay);
        Ok(true)
    }
}
