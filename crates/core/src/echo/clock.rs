//! The offset between the clocks of the two ends of a test.

use serde::{Deserialize, Serialize};

/// One measurement of the server's clock less the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffset {
    /// The time of the measurement, ns after the test's start; negative before it.
    pub at_ns: i64,
    /// The server's clock less the client's, ns.
    pub offset_ns: i64,
    /// The maximum error of the offset, ns.
    pub bound_ns: i64,
}

/// The server's clock less the client's over a test: a straight line from before it to after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockOffsetLine {
    /// The measurement before the test.
    pub before: ClockOffset,
    /// The measurement after it; the same as before where none was possible.
    pub after: ClockOffset,
}

impl ClockOffsetLine {
    /// The server's clock less the client's at a time of the test, ns.
    #[must_use]
    pub fn offset_ns(&self, at_ns: i64) -> i64 {
        let length = i128::from(self.after.at_ns) - i128::from(self.before.at_ns);
        if length <= 0 {
            return self.before.offset_ns;
        }
        let elapsed = (i128::from(at_ns) - i128::from(self.before.at_ns)).clamp(0, length);
        // Only the change of the offset passes through floating point, so nanoseconds survive.
        let change = i128::from(self.after.offset_ns) - i128::from(self.before.offset_ns);
        let share = (change as f64 * (elapsed as f64 / length as f64)).round() as i64;
        self.before.offset_ns.saturating_add(share)
    }

    /// The maximum error of the line at its ends, ns.
    #[must_use]
    pub fn bound_ns(&self) -> i64 {
        self.before.bound_ns.max(self.after.bound_ns)
    }

    /// The rate at which the server's clock gains on the client's, parts per million; `None` for a line
    /// without length.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let length = self.after.at_ns.saturating_sub(self.before.at_ns);
        let change = self.after.offset_ns.saturating_sub(self.before.offset_ns);
        (length > 0).then(|| change as f64 / length as f64 * 1e6)
    }
}
