//! The dual queue with coupled marking for L4S: a shallow queue for scalable traffic beside one for the rest. RFC 9332 with PI2, the values those of tc-dualpi2(8).

use std::collections::VecDeque;
use std::time::Duration;

use caudal_core::marks::Ecn;

use crate::frame::Frame;
use crate::probability::Probability;
use crate::random::Rng;
use crate::time::{SimTime, duration_to_ns};

/// The time between two updates of the controller.
const UPDATE: Duration = Duration::from_millis(16);
/// The gains of the controller for the delay above the target and for its change, Hz.
const ALPHA: f64 = 0.16;
const BETA: f64 = 3.2;
/// The factor between the two coupled probabilities.
const COUPLING: f64 = 2.0;
/// The delay of the scalable queue from which on every packet is marked.
const STEP: Duration = Duration::from_millis(1);
/// The share of the departures, percent of their bytes, that the classic queue has at least where both wait.
const CLASSIC_SHARE: i64 = 10;
/// Maximum credit of either queue, bytes of a departure.
const MAX_CREDIT: i64 = 20_000;

/// What becomes of a frame that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It goes on as it is.
    Forward,
    /// It is marked CE.
    Mark,
    /// It is dropped.
    Drop,
}

/// The state of a dual queue; the frames of the classic one are elsewhere.
#[derive(Debug, Clone)]
pub struct DualQueue {
    target_ns: u64,
    scalable: VecDeque<(SimTime, Frame)>,
    /// The base probability p', 0 to 1.
    base: f64,
    before_ns: u64,
    updated_at: SimTime,
    /// What the classic queue is owed, bytes of both weighted: above 0 it goes first.
    credit: i64,
    rng: Rng,
}

impl DualQueue {
    /// A dual queue whose classic delay is to be `target`.
    #[must_use]
    pub fn new(target: Duration, rng: Rng) -> Self {
        Self {
            target_ns: duration_to_ns(target),
            scalable: VecDeque::new(),
            base: 0.0,
            before_ns: 0,
            updated_at: SimTime::START,
            credit: 0,
            rng,
        }
    }

    /// The probability with which a packet of the classic queue is dropped or marked: the square of the base.
    #[must_use]
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// The probability with which a packet of the scalable queue is marked for the sake of the classic one.
    #[must_use]
    pub fn coupled_probability(&self) -> f64 {
        (COUPLING * self.base).min(1.0)
    }

    /// Whether a frame belongs into the scalable queue: ECT(1), and CE, which may have been one.
    pub(crate) const fn is_scalable(frame: &Frame) -> bool {
        matches!(frame.ecn, Ecn::Ect1 | Ecn::Ce)
    }

    /// The frames of the scalable queue.
    pub(crate) const fn scalable(&self) -> &VecDeque<(SimTime, Frame)> {
        &self.scalable
    }

    pub(crate) fn enqueue(&mut self, now: SimTime, frame: Frame) {
        self.scalable.push_back((now, frame));
    }

    /// `true` where the next frame is one of the scalable queue, with the first of the classic one.
    pub(crate) fn is_scalable_next(&self, classic: Option<&(SimTime, Frame)>) -> bool {
        match (self.scalable.front(), classic) {
            (Some(_), Some(_)) => self.credit <= 0,
            (scalable, _) => scalable.is_some(),
        }
    }

    /// Takes the next frame of the scalable queue.
    pub(crate) fn dequeue(&mut self) -> Option<(SimTime, Frame)> {
        self.scalable.pop_front()
    }

    /// Counts a departure for the weighted turns of both queues.
    pub(crate) fn departed(&mut self, length: u32, is_scalable: bool, is_other_waiting: bool) {
        if !is_other_waiting {
            self.credit = 0;
            return;
        }
        let bytes = i64::from(length);
        let change = match is_scalable {
            true => bytes * CLASSIC_SHARE,
            false => -bytes * (100 - CLASSIC_SHARE),
        };
        self.credit = (self.credit + change).clamp(-MAX_CREDIT * 100, MAX_CREDIT * 100);
    }

    /// Brings the controller up to `now`; `classic_ns` is how long the first frame of the classic queue has waited, 0 where there is none.
    pub(crate) fn update(&mut self, now: SimTime, classic_ns: u64) {
        let scalable_ns = self
            .scalable
            .front()
            .map_or(0, |(since, _)| now.ns_since(*since));
        let delay_ns = classic_ns.max(scalable_ns);
        let period_ns = duration_to_ns(UPDATE);
        let mut steps = now.ns_since(self.updated_at) / period_ns;
        if steps == 0 {
            return;
        }
        self.updated_at = self.updated_at.plus_ns(steps * period_ns);
        let seconds = |ns: u64| ns as f64 / 1e9;
        // After a long pause the controller has come to rest.
        steps = steps.min(1000);
        for step in 0..steps {
            let before_ns = if step == 0 { self.before_ns } else { delay_ns };
            let change = ALPHA * (seconds(delay_ns) - seconds(self.target_ns))
                + BETA * (seconds(delay_ns) - seconds(before_ns));
            self.base = (self.base + change).clamp(0.0, 1.0);
        }
        self.before_ns = delay_ns;
    }

    /// What becomes of a frame that leaves the scalable queue after `wait_ns`.
    pub(crate) fn of_scalable(&mut self, wait_ns: u64) -> Verdict {
        let coupled = COUPLING * self.base;
        // Marks alone do not hold such a load back.
        if coupled >= 1.0 && self.chance(self.classic_probability()) {
            return Verdict::Drop;
        }
        let is_above = wait_ns > duration_to_ns(STEP) && !self.scalable.is_empty();
        match is_above || self.chance(coupled.min(1.0)) {
            true => Verdict::Mark,
            false => Verdict::Forward,
        }
    }

    /// What becomes of a frame that leaves the classic queue.
    pub(crate) fn of_classic(&mut self, frame: &Frame) -> Verdict {
        let is_overloaded = COUPLING * self.base >= 1.0;
        match self.chance(self.classic_probability()) {
            false => Verdict::Forward,
            true if frame.ecn == Ecn::Ect0 && !is_overloaded => Verdict::Mark,
            true => Verdict::Drop,
        }
    }

    fn chance(&mut self, probability: f64) -> bool {
        let probability = Probability::new(probability).unwrap_or(Probability::ALWAYS);
        self.rng.bernoulli(probability)
    }
}
