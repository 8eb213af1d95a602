//! A token bucket: a rate in the long run, a burst at once.

use caudal_core::units::{BitRate, ByteCount};

use crate::error::LinkError;
use crate::frame::{Frame, GAP_BYTES, PREAMBLE_BYTES};
use crate::moment::Moment;

/// Tokens are billionths of a bit, so that a rate times nanoseconds is tokens.
const TOKENS_PER_BYTE: u64 = 8_000_000_000;

/// Which bytes of a frame count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// All the wire is busy with: preamble, frame, check sequence and gap.
    Wire,
    /// From destination address to check sequence.
    Frame,
    /// What Ethernet carries: the IP packet, and padding if it is short.
    Packet,
}

impl Measure {
    /// The bytes of `frame` that count.
    #[must_use]
    pub const fn of(self, frame: &Frame) -> u64 {
        (match self {
            Self::Wire => frame.length().saturating_add(PREAMBLE_BYTES + GAP_BYTES),
            Self::Frame => frame.length(),
            Self::Packet => frame.packet_bytes(),
        }) as u64
    }
}

/// A bucket that fills at a rate and starts full.
#[derive(Debug, Clone)]
pub struct TokenBucket {
    rate: u64,
    capacity: u128,
    tokens: u128,
    filled_at: Moment,
    measure: Measure,
}

impl TokenBucket {
    /// A full bucket of `burst`, filling at `rate`.
    ///
    /// # Errors
    /// For a rate of zero.
    pub fn new(rate: BitRate, burst: ByteCount, measure: Measure) -> Result<Self, LinkError> {
        let capacity = u128::from(burst.get()) * u128::from(TOKENS_PER_BYTE);
        let mut bucket = Self {
            rate: 0,
            capacity,
            tokens: capacity,
            filled_at: Moment::START,
            measure,
        };
        bucket.set_rate(Moment::START, rate)?;
        Ok(bucket)
    }

    /// Fills at `rate` from `now` on.
    ///
    /// # Errors
    /// For a rate of zero.
    pub fn set_rate(&mut self, now: Moment, rate: BitRate) -> Result<(), LinkError> {
        if rate == BitRate::ZERO {
            return Err(LinkError::NoRate(rate));
        }
        self.fill(now);
        self.rate = rate.bps();
        Ok(())
    }

    fn fill(&mut self, now: Moment) {
        let gained = u128::from(now.ns_since(self.filled_at)) * u128::from(self.rate);
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        self.filled_at = self.filled_at.max(now);
    }

    fn price(&self, frame: &Frame) -> u128 {
        u128::from(self.measure.of(frame)) * u128::from(TOKENS_PER_BYTE)
    }

    /// Takes what `frame` costs at `now`; `false` when there is not enough.
    pub(crate) fn takes(&mut self, now: Moment, frame: &Frame) -> bool {
        self.fill(now);
        let price = self.price(frame);
        let enough = price <= self.tokens;
        if enough {
            self.tokens -= price;
        }
        enough
    }

    /// Whether `frame` can never be paid for.
    pub(crate) fn never(&self, frame: &Frame) -> bool {
        self.price(frame) > self.capacity
    }

    /// The first nanosecond at which `frame` can be paid for, if nothing else is before.
    pub(crate) fn when(&self, frame: &Frame) -> Moment {
        let missing = self.price(frame).saturating_sub(self.tokens);
        let wait = missing.div_ceil(u128::from(self.rate));
        self.filled_at
            .plus_ns(u64::try_from(wait).unwrap_or(u64::MAX))
    }
}
