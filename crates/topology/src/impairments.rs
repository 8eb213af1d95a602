//! Impairments: the effects of a link on frames.

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};

use crate::file::{Balancing, Measure};

/// The effects of one direction of a link on frames: rate, delay, loss and the like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Impairments {
    /// The line rate; `None` is no limit.
    pub rate: Option<RateSetup>,
    /// The queue in front of the line.
    pub queue: QueueSetup,
    /// The constant one-way delay.
    pub delay: Duration,
    /// A random delay on top of the constant one.
    pub jitter: Option<JitterSetup>,
    /// The probability of independent loss.
    pub loss: f64,
    /// Loss in bursts.
    pub burst_loss: Option<BurstLossSetup>,
    /// The positions, counted from 0, of frames that are lost.
    pub lost_positions: Vec<u64>,
    /// The probability that a frame is damaged and dropped by its check sequence.
    pub corrupt: f64,
    /// The probability that a frame is damaged and delivered all the same.
    pub corrupt_silently: f64,
    /// The probability that a frame arrives twice.
    pub duplicate: f64,
    /// Reordering.
    pub reorder: Option<ReorderSetup>,
    /// The token bucket at the receiving end, which drops what exceeds it.
    pub policer: Option<BucketSetup>,
    /// The token bucket at the sending end, which delays what exceeds it.
    pub shaper: Option<BucketSetup>,
    /// Parallel paths, in place of rate, queue, delay, jitter and loss; empty without.
    pub paths: Vec<Impairments>,
    /// The load balancing over `paths`.
    pub balancing: Balancing,
}

impl Impairments {
    /// The line rate, if there is one and it never changes.
    #[must_use]
    pub fn constant_rate(&self) -> Option<BitRate> {
        self.rate.as_ref().and_then(RateSetup::constant)
    }

    /// `true` when there is nothing but a constant rate and a drop-tail queue.
    #[must_use]
    pub fn has_only_constant_rate_and_drop_tail(&self) -> bool {
        let plain = Self {
            rate: self.rate.clone(),
            queue: self.queue.clone(),
            ..Self::default()
        };
        *self == plain
            && self
                .rate
                .as_ref()
                .is_none_or(|rate| rate.constant().is_some())
            && self.queue.discipline == Discipline::DropTail
    }
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateSetup {
    /// Start times and rates, in order of time; the first at 0.
    pub steps: Vec<(Duration, BitRate)>,
    /// The period after which the steps repeat; `None` keeps the last rate.
    pub repeat: Option<Duration>,
}

impl From<BitRate> for RateSetup {
    /// A rate that never changes.
    fn from(rate: BitRate) -> Self {
        Self {
            steps: vec![(Duration::ZERO, rate)],
            repeat: None,
        }
    }
}

impl RateSetup {
    /// The rate, if it never changes.
    #[must_use]
    pub fn constant(&self) -> Option<BitRate> {
        match self.steps[..] {
            [(_, rate)] => Some(rate),
            _ => None,
        }
    }

    /// The highest rate of all steps.
    #[must_use]
    pub fn max(&self) -> BitRate {
        let rates = self.steps.iter().map(|(_, rate)| *rate);
        rates.max().unwrap_or(BitRate::ZERO)
    }
}

/// A queue in front of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueSetup {
    /// Its capacity.
    pub limit: QueueLimit,
    /// The queueing discipline.
    pub discipline: Discipline,
    /// `true` where packets of ECN-capable transports are marked instead of dropped early.
    pub ecn: bool,
}

impl Default for QueueSetup {
    /// No limit, drop-tail.
    fn default() -> Self {
        Self {
            limit: QueueLimit::None,
            discipline: Discipline::DropTail,
            ecn: false,
        }
    }
}

/// The capacity of a queue, without the frame that is being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// This many frames.
    Frames(u64),
    /// This many bytes, from destination address to check sequence.
    Bytes(ByteCount),
    /// Unlimited.
    None,
}

/// A queueing discipline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    /// Drops arriving frames while the queue is full.
    DropTail,
    /// Random early detection (Floyd and Jacobson 1993).
    Red {
        /// The average length below which nothing is dropped.
        min_threshold: ByteCount,
        /// The average length at and above which everything is dropped.
        max_threshold: ByteCount,
        /// The drop probability just below `max_threshold`.
        max_probability: f64,
    },
    /// Controlled delay (RFC 8289).
    Codel {
        /// The acceptable queueing delay.
        target: Duration,
        /// The interval over which the delay is observed.
        interval: Duration,
    },
    /// A dual queue with coupled marking (RFC 9332).
    Dual {
        /// The queueing delay of traffic that is not scalable.
        target: Duration,
    },
}

/// A random delay drawn for each frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JitterSetup {
    /// Its distribution.
    pub distribution: DelayDistribution,
    /// The order of frames with different delays.
    pub order: FrameOrder,
}

/// The order of frames after a random delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameOrder {
    /// The order is preserved: a frame that would overtake arrives together with the one before it.
    Preserved,
    /// Each frame arrives when its own delay ends, whether or not that reorders frames.
    Free,
}

/// The distribution of a random delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DelayDistribution {
    /// The same delay for every frame.
    Constant(Duration),
    /// Uniform between a minimum and a maximum.
    Uniform(Duration, Duration),
    /// Normal with a mean and a standard deviation; negative delays count as zero.
    Normal(Duration, Duration),
    /// Pareto with a minimum and the exponent of the tail.
    Pareto(Duration, f64),
}

/// Loss in bursts: the two-state channel of Gilbert and Elliott.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BurstLossSetup {
    /// The probability, per frame, of a transition from the good to the bad state.
    pub good_to_bad: f64,
    /// The probability, per frame, of a transition from the bad to the good state.
    pub bad_to_good: f64,
    /// The loss probability in the good state.
    pub loss_in_good: f64,
    /// The loss probability in the bad state.
    pub loss_in_bad: f64,
}

/// Reordering by holding frames back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReorderSetup {
    /// The probability that a frame is held back.
    pub probability: f64,
    /// The number of frames that overtake each (reordering extent, RFC 4737).
    pub extent: u64,
    /// The longest time a frame is held back.
    pub max_hold: Duration,
}

/// A token bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BucketSetup {
    /// The rate at which the bucket fills.
    pub rate: BitRate,
    /// Its capacity.
    pub burst: ByteCount,
    /// The bytes of a frame that count.
    pub measure: Measure,
}
