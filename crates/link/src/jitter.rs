//! A delay that differs from frame to frame.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cell::{Cell, Delivery};
use crate::counters::{Counters, Traffic};
use crate::dice::Dice;
use crate::error::LinkError;
use crate::frame::Frame;
use crate::moment::{Moment, whole_ns};

/// The longest delay a distribution gives: an hour, far beyond the reach of its rounding.
const LONGEST_NS: f64 = 3.6e12;

/// How delays are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Constant { ns: u64 },
    Uniform { low_ns: u64, span_ns: u64 },
    Normal { mean_ns: f64, deviation_ns: f64 },
    Pareto { least_ns: f64, exponent: f64 },
}

/// A distribution of delays in whole nanoseconds, none below zero or above an hour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution(Shape);

impl Distribution {
    /// Always `delay`.
    #[must_use]
    pub fn constant(delay: Duration) -> Self {
        Self(Shape::Constant {
            ns: whole_ns(delay),
        })
    }

    /// From `low` to `high`, each nanosecond as likely; the other way round means the same.
    #[must_use]
    pub fn uniform(low: Duration, high: Duration) -> Self {
        let (low, high) = (whole_ns(low.min(high)), whole_ns(low.max(high)));
        Self(Shape::Uniform {
            low_ns: low,
            span_ns: high - low,
        })
    }

    /// Normal, with what would be below zero put at zero.
    #[must_use]
    pub fn normal(mean: Duration, deviation: Duration) -> Self {
        Self(Shape::Normal {
            mean_ns: whole_ns(mean) as f64,
            deviation_ns: whole_ns(deviation) as f64,
        })
    }

    /// Pareto: at least `least`, longer than x with probability (`least` / x)^`exponent`.
    ///
    /// # Errors
    /// When `exponent` is not above zero.
    pub fn pareto(least: Duration, exponent: f64) -> Result<Self, LinkError> {
        if !(exponent > 0.0 && exponent.is_finite()) {
            return Err(LinkError::NoDistribution {
                parameter: "exponent",
                value: exponent,
            });
        }
        Ok(Self(Shape::Pareto {
            least_ns: whole_ns(least) as f64,
            exponent,
        }))
    }

    /// One delay in nanoseconds.
    #[must_use]
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        let ns = match self.0 {
            Shape::Constant { ns } => return ns,
            Shape::Uniform { low_ns, span_ns } => {
                return low_ns.saturating_add(dice.below(span_ns.saturating_add(1)));
            }
            Shape::Normal {
                mean_ns,
                deviation_ns,
            } => mean_ns + deviation_ns * dice.normal(),
            Shape::Pareto { least_ns, exponent } => {
                least_ns * libm::pow(dice.fraction(), -1.0 / exponent)
            }
        };
        libm::round(ns.clamp(0.0, LONGEST_NS)) as u64
    }
}

/// Whether a frame may overtake another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A frame that would overtake arrives with the one before it.
    Kept,
    /// Frames arrive when their own delay ends.
    Free,
}

/// A delay drawn for every frame.
#[derive(Debug)]
pub struct Jitter {
    distribution: Distribution,
    order: Order,
    dice: Dice,
    /// By arrival, then by the order in which they came.
    underway: BTreeMap<(Moment, u64), Frame>,
    came: u64,
    last: Moment,
    counters: Counters,
}

impl Jitter {
    /// Delivers every frame after a time from `distribution`.
    #[must_use]
    pub fn new(distribution: Distribution, order: Order, dice: Dice) -> Self {
        Self {
            distribution,
            order,
            dice,
            underway: BTreeMap::new(),
            came: 0,
            last: Moment::START,
            counters: Counters::default(),
        }
    }
}

impl Cell for Jitter {
    fn kind(&self) -> &'static str {
        "jitter"
    }

    fn offer(&mut self, now: Moment, frame: Frame, out: &mut Vec<Delivery>) {
        self.advance(now, out);
        self.counters.offered.count(&frame);
        let mut at = now.plus_ns(self.distribution.draw(&mut self.dice));
        if self.order == Order::Kept {
            at = at.max(self.last);
            self.last = at;
        }
        self.underway.insert((at, self.came), frame);
        self.came += 1;
        self.advance(now, out);
    }

    fn counters(&self) -> Counters {
        self.counters.clone()
    }

    fn next_event(&self) -> Option<Moment> {
        self.underway.first_key_value().map(|((at, _), _)| *at)
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Delivery>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(((at, _), frame)) = self.underway.pop_first()
        {
            self.counters.delivered.count(&frame);
            out.push(Delivery { at, frame });
        }
    }

    fn held(&self) -> Traffic {
        Traffic::of(self.underway.values())
    }
}
