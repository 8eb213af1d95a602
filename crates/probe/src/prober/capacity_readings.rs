//! The readings that capacities are computed from.

use super::probe::{FRAME_OVERHEAD, ProbeFate, ProbeOutcome};
use crate::hop_capacity::{HopAnswer, HopReading, PathCapacities, VpsSettings};

/// Maximum changes of the route for which readings begin again.
const MAX_RESTARTS: usize = 3;

/// What is known of capacities so far.
#[derive(Debug, Default)]
pub(super) struct CapacityReadings {
    readings: Vec<HopReading>,
    restarts: usize,
}

impl CapacityReadings {
    /// The readings.
    pub(super) fn readings(&self) -> &[HopReading] {
        &self.readings
    }

    /// Takes the outcome of a probe in.
    pub(super) fn take(&mut self, outcome: &ProbeOutcome) {
        let request = &outcome.request;
        let answer = match &outcome.fate {
            ProbeFate::Answered(answer) => Some(HopAnswer {
                rtt_ns: answer.rtt_ns,
                reply_bytes: answer.wire_bytes,
            }),
            ProbeFate::Unanswered => None,
            ProbeFate::TooLargeHere | ProbeFate::NotSent(_) => return,
        };
        self.readings.push(HopReading {
            ttl: request.ttl,
            probe_bytes: request.bytes + FRAME_OVERHEAD,
            priming: request.priming,
            answer,
        });
    }

    /// What they say of each link.
    pub(super) fn evaluate(&self, vps: &VpsSettings) -> PathCapacities {
        PathCapacities::from_readings(&self.readings, vps)
    }

    /// Leaves out what was measured behind a hop that is another one now.
    pub(super) fn route_changed(&mut self, ttl: u8) {
        if self.restarts < MAX_RESTARTS {
            self.restarts += 1;
            self.readings.retain(|reading| reading.ttl < ttl);
        }
    }
}
