//! The states in which the two ends of a TCP connection were found, counted between samples.
//!
//! A sample shows a connection at one time, often a second apart. What it waits for shows in many readings: they are made every
//! few milliseconds beside the data path, and only their counts are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The states in which a TCP sender's connection was found; counts and sums only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SenderReadings {
    /// Readings.
    pub count: u64,
    /// Of these, readings with nothing left to send and room in the congestion window and the receiver's.
    pub out_of_data: u64,
    /// Readings of these in which the sending thread ran or waited for a processor.
    pub runnable: u64,
    /// Readings with data to send, room in both windows, and pacing in use.
    pub paced: u64,
    /// Readings in slow start, before the first retransmission.
    pub slow_start: u64,
    /// Readings whose round-trip time was a quarter and a millisecond above the minimum: data was waiting in a queue.
    pub queued: u64,
    /// The sum of the smoothed round-trip times, µs.
    pub rtt_sum_us: u64,
    /// The sum of the congestion windows, bytes.
    pub cwnd_sum_bytes: u64,
    /// The sum of the payload in flight, bytes.
    pub in_flight_sum_bytes: u64,
    /// The maximum window the receiver advertised since the connection opened, bytes.
    pub max_receiver_window_bytes: u64,
    /// Readings in which the receiver advertised less than half of that maximum.
    pub receiver_window_shrunk: u64,
    /// Readings with nine tenths of the window that the receiver advertised in flight, and a larger congestion window.
    pub receiver_window_filled: u64,
    /// The highest delivery rate that the kernel estimated while the application did not limit it, since the connection opened, bit/s.
    pub max_delivery_rate_bps: u64,
}

impl SenderReadings {
    /// The readings made since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(earlier.count),
            out_of_data: self.out_of_data.saturating_sub(earlier.out_of_data),
            runnable: self.runnable.saturating_sub(earlier.runnable),
            paced: self.paced.saturating_sub(earlier.paced),
            slow_start: self.slow_start.saturating_sub(earlier.slow_start),
            queued: self.queued.saturating_sub(earlier.queued),
            rtt_sum_us: self.rtt_sum_us.saturating_sub(earlier.rtt_sum_us),
            cwnd_sum_bytes: self.cwnd_sum_bytes.saturating_sub(earlier.cwnd_sum_bytes),
            in_flight_sum_bytes: self
                .in_flight_sum_bytes
                .saturating_sub(earlier.in_flight_sum_bytes),
            receiver_window_shrunk: self
                .receiver_window_shrunk
                .saturating_sub(earlier.receiver_window_shrunk),
            receiver_window_filled: self
                .receiver_window_filled
                .saturating_sub(earlier.receiver_window_filled),
            ..*self
        }
    }

    /// The share of the readings that `count` is; 0 without readings.
    #[must_use]
    pub fn share(&self, count: u64) -> f64 {
        count as f64 / self.count.max(1) as f64
    }

    /// The mean of a sum over the readings.
    #[must_use]
    pub fn mean(&self, sum: u64) -> f64 {
        sum as f64 / self.count.max(1) as f64
    }
}

/// The states in which a TCP receiver's connection was found; counts and sums only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ReceiverReadings {
    /// Readings.
    pub count: u64,
    /// Of these, readings in which payload that nobody had read took at least half of the receive buffer.
    pub unread: u64,
    /// Readings of these in which the receiving thread ran or waited for a processor.
    pub runnable: u64,
    /// The sum of the payload received and not read, bytes.
    pub unread_sum_bytes: u64,
}

impl ReceiverReadings {
    /// The readings made since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(earlier.count),
            unread: self.unread.saturating_sub(earlier.unread),
            runnable: self.runnable.saturating_sub(earlier.runnable),
            unread_sum_bytes: self
                .unread_sum_bytes
                .saturating_sub(earlier.unread_sum_bytes),
        }
    }

    /// The share of the readings with half of the buffer unread; 0 without readings.
    #[must_use]
    pub fn unread_share(&self) -> f64 {
        self.unread as f64 / self.count.max(1) as f64
    }

    /// The share of the readings with half of the buffer unread and the receiving thread ready to run; 0 without readings.
    #[must_use]
    pub fn runnable_share(&self) -> f64 {
        self.runnable as f64 / self.count.max(1) as f64
    }

    /// The mean of the payload received and not read, bytes.
    #[must_use]
    pub fn mean_unread_bytes(&self) -> f64 {
        self.unread_sum_bytes as f64 / self.count.max(1) as f64
    }
}
