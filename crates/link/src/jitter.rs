//! Random delay.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_topology::FrameOrder;

use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::random::Rng;
use crate::stage::{Stage, TimedFrame};
use crate::time::{SimTime, duration_to_ns};

/// Maximum delay drawn, an hour: floating-point numbers are exact to the nanosecond far beyond it.
const MAX_DELAY_NS: f64 = 3.6e12;

/// The shape of a distribution, with its parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Constant { ns: u64 },
    Uniform { low_ns: u64, span_ns: u64 },
    Normal { mean_ns: f64, deviation_ns: f64 },
    Pareto { min_ns: f64, exponent: f64 },
}

/// Draws delays in whole nanoseconds, from zero to an hour, from a distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DelaySampler(Shape);

impl DelaySampler {
    /// The constant `delay`.
    #[must_use]
    pub fn constant(delay: Duration) -> Self {
        Self(Shape::Constant {
            ns: duration_to_ns(delay),
        })
    }

    /// Uniform between two durations, in either order.
    #[must_use]
    pub fn uniform(low: Duration, high: Duration) -> Self {
        let (low, high) = (duration_to_ns(low.min(high)), duration_to_ns(low.max(high)));
        Self(Shape::Uniform {
            low_ns: low,
            span_ns: high - low,
        })
    }

    /// Normal; negative delays count as zero.
    #[must_use]
    pub fn normal(mean: Duration, deviation: Duration) -> Self {
        Self(Shape::Normal {
            mean_ns: duration_to_ns(mean) as f64,
            deviation_ns: duration_to_ns(deviation) as f64,
        })
    }

    /// Pareto: at least `min`, longer than x with probability (`min` / x)^`exponent`.
    ///
    /// # Errors
    /// When `exponent` is not above zero.
    pub fn pareto(min: Duration, exponent: f64) -> Result<Self, LinkError> {
        if !(exponent > 0.0 && exponent.is_finite()) {
            return Err(LinkError::InvalidDistribution {
                parameter: "exponent",
                value: exponent,
            });
        }
        Ok(Self(Shape::Pareto {
            min_ns: duration_to_ns(min) as f64,
            exponent,
        }))
    }

    /// The next delay in nanoseconds.
    #[must_use]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let ns = match self.0 {
            Shape::Constant { ns } => return ns,
            Shape::Uniform { low_ns, span_ns } => {
                return low_ns.saturating_add(rng.below(span_ns.saturating_add(1)));
            }
            Shape::Normal {
                mean_ns,
                deviation_ns,
            } => mean_ns + deviation_ns * rng.normal(),
            Shape::Pareto { min_ns, exponent } => {
                min_ns * libm::pow(rng.uniform(), -1.0 / exponent)
            }
        };
        libm::round(ns.clamp(0.0, MAX_DELAY_NS)) as u64
    }
}

/// A delay drawn for each frame.
#[derive(Debug)]
pub struct Jitter {
    delays: DelaySampler,
    order: FrameOrder,
    rng: Rng,
    /// By arrival at the other end, then in order of entry.
    in_flight: BTreeMap<(SimTime, u64), Frame>,
    /// The number of frames that have entered.
    entered: u64,
    last: SimTime,
    counters: FrameCounters,
}

impl Jitter {
    /// Delays each frame by a time drawn from `delays`.
    #[must_use]
    pub fn new(delays: DelaySampler, order: FrameOrder, rng: Rng) -> Self {
        Self {
            delays,
            order,
            rng,
            in_flight: BTreeMap::new(),
            entered: 0,
            last: SimTime::START,
            counters: FrameCounters::default(),
        }
    }
}

impl Stage for Jitter {
    fn kind(&self) -> &'static str {
        "jitter"
    }

    fn offer(&mut self, now: SimTime, frame: Frame, out: &mut Vec<TimedFrame>) {
        self.advance(now, out);
        self.counters.offered.add(&frame);
        let mut at = now.plus_ns(self.delays.draw(&mut self.rng));
        if self.order == FrameOrder::Preserved {
            at = at.max(self.last);
            self.last = at;
        }
        self.in_flight.insert((at, self.entered), frame);
        self.entered += 1;
        self.advance(now, out);
    }

    fn counters(&self) -> FrameCounters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<SimTime> {
        self.in_flight.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<TimedFrame>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(((at, _), frame)) = self.in_flight.pop_first()
        {
            self.counters.delivered.add(&frame);
            out.push(TimedFrame { at, frame });
        }
    }

    fn held(&self) -> FrameTotals {
        self.in_flight.values().collect()
    }
}
