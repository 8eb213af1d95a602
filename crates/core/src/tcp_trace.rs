//! The course of a TCP connection: what its sender's kernel said of it over time.

use serde::{Deserialize, Serialize};

/// Maximum number of readings kept. When there are more, every other one is dropped.
const MAX_READINGS: usize = 600;

/// A reading of a sending connection; counters are those of the connection so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ReadingNumbers", into = "ReadingNumbers")]
pub struct TcpReading {
    /// The time, µs after the first reading.
    pub at_us: u64,
    /// The smoothed round-trip time, µs.
    pub rtt_us: u32,
    /// The minimum round-trip time so far, µs.
    pub min_rtt_us: u32,
    /// The delivery rate that the kernel estimates, bit/s; 0 where the application limited it.
    pub delivery_bps: u64,
    /// Segments retransmitted.
    pub retransmits: u32,
    /// Payload acknowledged, bytes.
    pub acknowledged_bytes: u64,
}

/// The numbers of a reading in the order of its fields, as messages carry them.
type ReadingNumbers = (u64, u32, u32, u64, u32, u64);

impl From<ReadingNumbers> for TcpReading {
    fn from(numbers: ReadingNumbers) -> Self {
        let (at_us, rtt_us, min_rtt_us, delivery_bps, retransmits, acknowledged_bytes) = numbers;
        Self {
            at_us,
            rtt_us,
            min_rtt_us,
            delivery_bps,
            retransmits,
            acknowledged_bytes,
        }
    }
}

impl From<TcpReading> for ReadingNumbers {
    fn from(reading: TcpReading) -> Self {
        (
            reading.at_us,
            reading.rtt_us,
            reading.min_rtt_us,
            reading.delivery_bps,
            reading.retransmits,
            reading.acknowledged_bytes,
        )
    }
}

/// Readings of a sending connection, evenly over the test.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TcpTrace {
    readings: Vec<TcpReading>,
    #[serde(skip)]
    step_us: u64,
}

impl TcpTrace {
    /// Adds a reading; one that follows the last too closely is ignored.
    pub fn record(&mut self, reading: TcpReading) {
        let is_due = |last: &TcpReading| reading.at_us >= last.at_us + self.step_us;
        if !self.readings.last().is_none_or(is_due) {
            return;
        }
        self.readings.push(reading);
        if self.readings.len() > MAX_READINGS {
            let span_us = reading.at_us.saturating_sub(self.readings[0].at_us);
            // A little less than twice the time between readings, as those are late at times.
            self.step_us = span_us / MAX_READINGS as u64 * 19 / 10;
            let mut is_kept = false;
            self.readings.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// The readings in their order; none where they cannot be those of one connection, as another end may report anything.
    #[must_use]
    pub fn readings(&self) -> &[TcpReading] {
        let grows = |pair: &[TcpReading]| {
            pair[0].at_us < pair[1].at_us
                && pair[0].retransmits <= pair[1].retransmits
                && pair[0].acknowledged_bytes <= pair[1].acknowledged_bytes
        };
        let is_plausible =
            self.readings.len() <= MAX_READINGS && self.readings.windows(2).all(grows);
        if is_plausible { &self.readings } else { &[] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(nth: u64) -> TcpReading {
        TcpReading {
            at_us: nth * 20_000,
            rtt_us: 1,
            retransmits: nth as u32 / 10,
            acknowledged_bytes: nth * 1448,
            ..TcpReading::default()
        }
    }

    #[test]
    fn a_long_trace_is_thinned_out_evenly() {
        for count in [1, 599, 601, 5000, 100_000] {
            let mut trace = TcpTrace::default();
            (0..count).for_each(|nth| trace.record(reading(nth)));
            let readings = trace.readings();
            assert_eq!(readings[0], reading(0));
            assert!((count.min(290) as usize..=MAX_READINGS).contains(&readings.len()));
            let steps = readings
                .windows(2)
                .map(|pair| pair[1].at_us - pair[0].at_us);
            let (min, max) = (steps.clone().min(), steps.max());
            assert!(max <= min.map(|min| 2 * min), "{count}: {min:?} to {max:?}");
        }
    }

    #[test]
    fn a_trace_travels_as_numbers_and_one_that_cannot_be_is_none() {
        let mut trace = TcpTrace::default();
        (0..3).for_each(|nth| trace.record(reading(nth)));
        let text = serde_json::to_string(&trace).unwrap();
        assert!(text.starts_with("[[0,1,0,0,0,0],[20000,"), "{text}");
        let read: TcpTrace = serde_json::from_str(&text).unwrap();
        assert_eq!(read.readings(), trace.readings());
        for text in [
            "[[1,1,1,1,1,1],[1,1,1,1,1,1]]",
            "[[1,1,1,1,9,1],[2,1,1,1,1,1]]",
        ] {
            let read: TcpTrace = serde_json::from_str(text).unwrap();
            assert_eq!(read.readings(), []);
        }
    }
}
