//! Frames put on a wire one after the other, at a rate.

use std::collections::VecDeque;

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, Report, Traffic};
use crate::error::LinkError;
use crate::frame::{Frame, GAP_BYTES};
use crate::moment::Moment;
use crate::queue::Queue;
use crate::rate::{Exact, RateTrace};

/// A queue and the wire behind it.
///
/// A frame takes the time of its preamble and itself, and comes out at its last bit; the wire is free for the next after
/// the gap. Departures follow from arrivals and the rate alone, exactly: nothing is rounded that a later frame builds on.
#[derive(Debug)]
pub struct Serialiser {
    rate: RateTrace,
    queue: Queue,
    /// MAC control frames, which neither wait behind the others nor heed a pause.
    control: VecDeque<Frame>,
    sending: Option<(Moment, Frame)>,
    free: Exact,
    paused_until: Moment,
    counters: Counters,
}

impl Serialiser {
    /// An idle wire of `rate` behind `queue`.
    #[must_use]
    pub fn new(rate: RateTrace, queue: Queue) -> Self {
        Self {
            rate,
            queue,
            control: VecDeque::new(),
            sending: None,
            free: Exact::whole(Moment::START),
            paused_until: Moment::START,
            counters: Counters::default(),
        }
    }

    /// The queue in front of the wire.
    #[must_use]
    pub const fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Sends `frame`, which was made here, before all that wait.
    pub(crate) fn send_control(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.added.count(&frame);
        self.control.push_back(frame);
        self.start(now);
    }

    /// How long `quanta` times 512 bits take at the rate of `now`.
    pub(crate) fn pause_end(&self, now: Moment, quanta: u16) -> Moment {
        let bits = u64::from(quanta) * 512;
        self.rate.finish(Exact::whole(now), bits).ceil()
    }

    /// From when on the next frame may be sent; `None` when there is none or one is being sent.
    fn ready(&self) -> Option<Exact> {
        if self.sending.is_some() {
            None
        } else if !self.control.is_empty() {
            Some(self.free)
        } else if !self.queue.is_empty() {
            Some(self.free.max(self.paused_until))
        } else {
            None
        }
    }

    /// Begins to send what came at `now`, if the wire is free.
    fn start(&mut self, now: Moment) {
        if let Some(ready) = self.ready()
            && ready.ceil() <= now
        {
            self.begin(ready.max(now));
        }
    }

    fn begin(&mut self, at: Exact) {
        let frame = match self.control.pop_front() {
            Some(frame) => Some(frame),
            None => self
                .queue
                .pop(at.ceil(), &mut self.counters)
                .map(|(_, frame)| frame),
        };
        if let Some(frame) = frame {
            let last_bit = self.rate.finish(at, frame.sent_bits());
            self.free = self.rate.finish(last_bit, u64::from(GAP_BYTES) * 8);
            self.sending = Some((last_bit.ceil(), frame));
        }
    }
}

impl Cell for Serialiser {
    fn kind(&self) -> &'static str {
        "serialiser"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.offered.count(&frame);
        self.queue.push(now, frame, &mut self.counters);
        self.start(now);
    }

    fn next_event(&self) -> Option<Moment> {
        match &self.sending {
            Some((last_bit, _)) => Some(*last_bit),
            None => self.ready().map(Exact::ceil),
        }
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        loop {
            if let Some((at, frame)) = self.sending.take_if(|(last_bit, _)| *last_bit <= now) {
                self.counters.delivered.count(&frame);
                out.push(Delivery { at, frame });
            }
            match self.ready() {
                Some(ready) if ready.ceil() <= now => self.begin(ready),
                _ => return,
            }
        }
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn held(&self) -> Traffic {
        let mut held = self.queue.held();
        held += Traffic::of(&self.control);
        held += Traffic::of(self.sending.as_ref().map(|(_, frame)| frame));
        held
    }

    fn report(&self, now: Moment) -> Report {
        Report {
            queue: Some(self.queue.report(now)),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    fn pause(&mut self, now: Moment, quanta: u16) -> bool {
        self.paused_until = self.pause_end(now, quanta);
        true
    }

    fn set(&mut self, _now: Moment, setting: Setting) -> Result<bool, LinkError> {
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        self.rate = RateTrace::constant(rate)?;
        Ok(true)
    }
}
