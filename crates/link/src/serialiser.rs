//! Serialisation: frames leave a queue one after the other at a line rate.

use std::collections::VecDeque;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::{Frame, INTERFRAME_GAP_BYTES};
use crate::queue::Queue;
use crate::rate::{ExactTime, RateTrace};
use crate::report::ComponentReport;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::SimTime;

/// A queue and the line behind it.
///
/// Sending takes the time of the preamble and the frame, which comes out at its last bit; the line is free for the next
/// frame after the interframe gap. Departures follow from arrivals and the rate alone, without accumulating rounding errors.
#[derive(Debug)]
pub struct Serialiser {
    rate: RateTrace,
    queue: Queue,
    /// MAC control frames, which pass the queue and are sent during a pause.
    control: VecDeque<Frame>,
    /// The frame being sent and the time of its last bit.
    sending: Option<(SimTime, Frame)>,
    free_at: ExactTime,
    paused_until: SimTime,
    counters: FrameCounters,
}

impl Serialiser {
    /// An idle line of `rate` behind `queue`.
    #[must_use]
    pub fn new(rate: RateTrace, queue: Queue) -> Self {
        Self {
            rate,
            queue,
            control: VecDeque::new(),
            sending: None,
            free_at: ExactTime::from(SimTime::START),
            paused_until: SimTime::START,
            counters: FrameCounters::default(),
        }
    }

    /// The queue in front of the line.
    #[must_use]
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Sends `frame`, a MAC control frame created here, before all that wait.
    pub(crate) fn send_control(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.counters.added.add(&frame);
        self.control.push_back(frame);
        self.try_send(now);
    }

    /// The end of a pause of `quanta` times 512 bit times that begins at `now`.
    pub(crate) fn pause_end(&self, now: SimTime, quanta: u16) -> SimTime {
        let bits = u64::from(quanta) * 512;
        self.rate.finish(ExactTime::from(now), bits).ceil()
    }

    /// The earliest time to send the next frame; `None` when there is none or one is being sent.
    fn ready_at(&self) -> Option<ExactTime> {
        if self.sending.is_some() {
            None
        } else if !self.control.is_empty() {
            Some(self.free_at)
        } else if !self.queue.is_empty() {
            Some(self.free_at.max(self.paused_until))
        } else {
            None
        }
    }

    /// Starts to send a frame that arrived at `now`, if the line is free.
    fn try_send(&mut self, now: SimTime) {
        if let Some(ready) = self.ready_at()
            && ready.ceil() <= now
        {
            self.send_next(ready.max(now));
        }
    }

    fn send_next(&mut self, at: ExactTime) {
        let frame = match self.control.pop_front() {
            Some(frame) => Some(frame),
            None => self
                .queue
                .dequeue(at.ceil(), &mut self.counters)
                .map(|(_, frame)| frame),
        };
        if let Some(frame) = frame {
            let last_bit = self.rate.finish(at, frame.wire_bits());
            self.free_at = self
                .rate
                .finish(last_bit, u64::from(INTERFRAME_GAP_BYTES) * 8);
            self.sending = Some((last_bit.ceil(), frame));
        }
    }
}

impl Stage for Serialiser {
    fn kind(&self) -> &'static str {
        "serialiser"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.counters.offered.add(&frame);
        self.queue.enqueue(now, frame, &mut self.counters);
        self.try_send(now);
    }

    fn next_event(&self) -> Option<SimTime> {
        match &self.sending {
            Some((last_bit, _)) => Some(*last_bit),
            None => self.ready_at().map(ExactTime::ceil),
        }
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        loop {
            if let Some((at, frame)) = self.sending.take_if(|(last_bit, _)| *last_bit <= now) {
                self.counters.delivered.add(&frame);
                out.push(TimedFrame { at, frame });
            }
            match self.ready_at() {
                Some(ready) if ready.ceil() <= now => self.send_next(ready),
                _ => return,
            }
        }
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn held(&self) -> FrameTotals {
        let mut held = self.queue.held();
        held += self.control.iter().collect();
        held += self.sending.iter().map(|(_, frame)| frame).collect();
        held
    }

    fn report(&self, now: SimTime) -> ComponentReport {
        ComponentReport {
            queue: Some(self.queue.report(now)),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    fn pause(&mut self, now: SimTime, quanta: u16) -> bool {
        self.paused_until = self.pause_end(now, quanta);
        true
    }

    fn set(&mut self, _now: SimTime, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.rate = RateTrace::constant(rate)?;
        Ok(true)
    }
}
