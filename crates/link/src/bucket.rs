//! Token buckets: a long-term rate and a burst.

use caudal_core::units::{BitRate, ByteCount};
use caudal_topology::Measure;

use crate::error::LinkError;
use crate::frame::{Frame, INTERFRAME_GAP_BYTES, PREAMBLE_BYTES};
use crate::time::SimTime;

/// A token is a billionth of a bit, so that a rate times nanoseconds is a number of tokens.
const TOKENS_PER_BYTE: u64 = 8_000_000_000;

/// A token bucket, which fills at a rate and starts full.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: u64,
    capacity: u128,
    tokens: u128,
    filled_at: SimTime,
    measure: Measure,
}

impl TokenBucket {
    /// A full bucket with a capacity of `burst` that fills at `rate`.
    ///
    /// # Errors
    /// For a rate of zero.
    pub fn new(rate: BitRate, burst: ByteCount, measure: Measure) -> Result<Self, LinkError> {
        let capacity = u128::from(burst.get()) * u128::from(TOKENS_PER_BYTE);
        let mut bucket = Self {
            rate: 0,
            capacity,
            tokens: capacity,
            filled_at: SimTime::START,
            measure,
        };
        bucket.set_rate(SimTime::START, rate)?;
        Ok(bucket)
    }

    /// Sets the rate from `now` on.
    ///
    /// # Errors
    /// For a rate of zero.
    pub fn set_rate(&mut self, now: SimTime, rate: BitRate) -> Result<(), LinkError> {
        if rate == BitRate::ZERO {
            return Err(LinkError::ZeroRate(rate));
        }
        self.fill(now);
        self.rate = rate.bps();
        Ok(())
    }

    fn fill(&mut self, now: SimTime) {
        let gained = u128::from(now.ns_since(self.filled_at)) * u128::from(self.rate);
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        self.filled_at = self.filled_at.max(now);
    }

    /// The tokens that `frame` needs.
    fn cost(&self, frame: &Frame) -> u128 {
        u128::from(counted_bytes(self.measure, frame)) * u128::from(TOKENS_PER_BYTE)
    }

    /// Takes the tokens for `frame` at `now`; `false` when there are not enough.
    pub(crate) fn try_take(&mut self, now: SimTime, frame: &Frame) -> bool {
        self.fill(now);
        let cost = self.cost(frame);
        let enough = cost <= self.tokens;
        if enough {
            self.tokens -= cost;
        }
        enough
    }

    /// `true` when `frame` needs more tokens than the bucket can hold.
    pub(crate) fn exceeds_capacity(&self, frame: &Frame) -> bool {
        self.cost(frame) > self.capacity
    }

    /// The first nanosecond at which there are enough tokens for `frame`, if none are taken before.
    pub(crate) fn available_at(&self, frame: &Frame) -> SimTime {
        let missing = self.cost(frame).saturating_sub(self.tokens);
        let wait = missing.div_ceil(u128::from(self.rate));
        self.filled_at
            .plus_ns(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}

/// The bytes of `frame` that count by `measure`.
const fn counted_bytes(measure: Measure, frame: &Frame) -> u64 {
    (match measure {
        Measure::Wire => frame
            .length()
            .saturating_add(PREAMBLE_BYTES + INTERFRAME_GAP_BYTES),
        Measure::Frame => frame.length(),
        Measure::Packet => frame.packet_bytes(),
    }) as u64
}
