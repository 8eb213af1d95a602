//! Why readings show nothing.

use caudal_core::units::BitRate;
use thiserror::Error;

/// The reason for which readings do not support a statement.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum CannotTell {
    /// Nothing was measured.
    #[error("there are no readings")]
    NoReadings,
    /// Nothing that was sent has arrived.
    #[error("nothing that was sent has arrived")]
    NothingArrived,
    /// Too little was measured for the estimate.
    #[error("only {have} {what}; {need} needed")]
    TooFew {
        /// What was counted, in the plural.
        what: &'static str,
        /// The number there is.
        have: u64,
        /// The number that is needed.
        need: u64,
    },
    /// The probes are too alike in size for a slope.
    #[error("the probes differ by only {span_bytes} bytes; {need_bytes} needed")]
    SizesTooAlike {
        /// The difference between the largest and the smallest, bytes.
        span_bytes: u64,
        /// The difference that is needed, bytes.
        need_bytes: u64,
    },
    /// Every reading has the same value.
    #[error("all readings are equal: the clock is too coarse")]
    AllEqual,
    /// Large probes came back sooner than small ones.
    #[error(
        "large probes return sooner than small ones: the path changed, or its hops answer at different speeds"
    )]
    NegativeSlope,
    /// The times do not grow in proportion to the size.
    #[error(
        "the delay is not linear in the size (R² {r_squared:.2}): aggregation, compression, fragments or cells"
    )]
    NotLinear {
        /// The part of the variance that the line explains, from 0 to 1.
        r_squared: f64,
    },
    /// The slope is smaller than at the hop before.
    #[error(
        "the slope is smaller than at the hop before: the path changed, or replies return by another path"
    )]
    SlopeFalls,
    /// No link has a capacity.
    #[error("no link capacity could be estimated")]
    NoCapacity,
    /// No pair was found without queueing.
    #[error(
        "no pair crossed without queueing: the minimum of the delay sums is {excess_ns} ns above the sum of the minima"
    )]
    NotConverged {
        /// The excess, ns.
        excess_ns: u64,
    },
    /// Two sizes of packet give two capacities.
    #[error("packets of different sizes give {first} and {second}")]
    SizesDisagree {
        /// The capacity from one size.
        first: BitRate,
        /// The capacity from another.
        second: BitRate,
    },
    /// Packets are handed over in groups, so gaps are those of the host.
    #[error(
        "{percent} % of the gaps are no larger than the noise of the timestamps: interrupts are coalesced, or the link is too fast for pairs"
    )]
    Coalesced {
        /// The part of the gaps, in percent.
        percent: u32,
    },
    /// Packets cross faster than hosts can time them.
    #[error(
        "packets cross at {at_least} or more, which is as fast as these hosts send and time them"
    )]
    TooFast {
        /// The rate at which they arrived.
        at_least: BitRate,
    },
    /// The times of short trains are those of a token bucket.
    #[error(
        "a token bucket is in the way, and no more packets than it holds show the line before it"
    )]
    BehindBucket,
    /// A train passed within the bucket.
    #[error("the train of {train_bytes} bytes did not outlast the bucket")]
    TrainTooShort {
        /// The size of the train, bytes.
        train_bytes: u64,
    },
    /// The value is outside what can be represented, or the input contradicts itself.
    #[error("{0}")]
    Implausible(&'static str),
}
