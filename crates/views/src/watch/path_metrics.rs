//! What is known of one watched path.

use super::histogram::TimeHistogram;

/// Why a test that was due was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It fell into quiet hours.
    QuietHours,
    /// The bytes of the day are used up.
    Budget,
}

impl SkipReason {
    /// Every reason.
    pub const ALL: [Self; 2] = [Self::QuietHours, Self::Budget];

    /// Its name in metrics and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QuietHours => "quiet_hours",
            Self::Budget => "budget",
        }
    }
}

/// A watched path: what its last test found, and what all of them add up to.
///
/// What the last test did not measure, or could not since it failed, is absent: never zero.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathMetrics {
    /// The name of this host.
    pub source: String,
    /// The name of the path.
    pub target: String,
    /// The command that measures it.
    pub protocol: String,
    /// `true` when the last test succeeded; `None` before the first.
    pub is_up: Option<bool>,
    /// The beginning of the last test, s since 1970.
    pub last_test_s: Option<f64>,
    /// Goodput to the other end, bit/s.
    pub up_bps: Option<f64>,
    /// Goodput from it, bit/s.
    pub down_bps: Option<f64>,
    /// The share of datagrams or messages lost.
    pub loss: Option<f64>,
    /// The delay that a load adds, s.
    pub added_delay_s: Option<f64>,
    /// Connections completed per second.
    pub connections_per_s: Option<f64>,
    /// `true` while an alert is raised.
    pub has_alert: bool,
    /// Round-trip times of all tests.
    pub rtt: TimeHistogram,
    /// Messages sent by all tests.
    pub probes: u64,
    /// Of these, lost ones.
    pub probes_lost: u64,
    /// Payload carried by all tests, bytes.
    pub payload_bytes: u64,
    /// The time that all tests took, s.
    pub test_s: f64,
    /// Tests that succeeded.
    pub completed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that were due and left out, in the order of [`SkipReason::ALL`].
    pub skipped: [u64; SkipReason::ALL.len()],
}

impl PathMetrics {
    /// A path that has not been tested.
    #[must_use]
    pub fn new(source: &str, target: &str, protocol: &str) -> Self {
        Self {
            source: source.to_owned(),
            target: target.to_owned(),
            protocol: protocol.to_owned(),
            ..Self::default()
        }
    }

    /// Takes note of a test that was left out.
    pub fn skip(&mut self, reason: SkipReason) {
        let reasons = SkipReason::ALL.iter().zip(&mut self.skipped);
        for (_, count) in reasons.filter(|(known, _)| **known == reason) {
            *count += 1;
        }
    }

    /// Takes note of a test that failed: what the one before found is the state of the path no longer.
    pub fn fail(&mut self, began_s: f64) {
        *self = Self {
            is_up: Some(false),
            last_test_s: Some(began_s),
            failed: self.failed + 1,
            up_bps: None,
            down_bps: None,
            loss: None,
            added_delay_s: None,
            connections_per_s: None,
            ..std::mem::take(self)
        };
    }
}
