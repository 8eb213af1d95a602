//! The readings that a server makes of its ends of the flows: only such as the plan has are taken.

use caudal_core::plan::{PlannedFlow, Ticks};
use caudal_core::sample::Sample;
use caudal_flow::RunError;
use std::collections::HashMap;
use std::time::Duration;

/// Maximum number of readings of a flow beyond those of the plan: those at the end.
const MAX_EXTRA: u64 = 16;
/// Ratio of the time that a server may have measured to that of this host, in a test without an end of its own: the clock of a host that
/// is suspended, or of a virtual machine that is paused, stands still.
const MAX_AHEAD: u32 = 4;

/// The readings of a flow so far.
#[derive(Debug, Default)]
struct FlowReadings {
    count: u64,
    last_tick: u64,
}

/// A check of the readings of a server, which may send anything.
#[derive(Debug)]
pub(super) struct PeerSamples {
    ticks: Ticks,
    flows: HashMap<u32, FlowReadings>,
}

impl PeerSamples {
    pub(super) fn new(planned: &[PlannedFlow], ticks: Ticks) -> Self {
        let flows = planned.iter();
        Self {
            ticks,
            flows: flows
                .map(|flow| (flow.id, FlowReadings::default()))
                .collect(),
        }
    }

    /// Whether to take a reading that came `elapsed` after the start; one of a flow that is not in the plan is ignored.
    ///
    /// # Errors
    /// When it is out of order, or one more than the plan has.
    pub(super) fn check(&mut self, sample: &Sample, elapsed: Duration) -> Result<bool, RunError> {
        let Some(flow) = self.flows.get_mut(&sample.flow) else {
            return Ok(false);
        };
        let planned = self.ticks.total();
        let until = planned.unwrap_or(elapsed.saturating_mul(MAX_AHEAD));
        let max = self.ticks.last_due(until).saturating_add(MAX_EXTRA);
        if sample.tick < flow.last_tick || sample.tick > max || flow.count > max {
            return Err(RunError::Protocol(
                format!(
                    "reading {} of flow {} is out of order, or beyond the plan",
                    sample.tick, sample.flow
                )
                .into(),
            ));
        }
        flow.last_tick = sample.tick;
        flow.count += 1;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::Direction;
    use caudal_core::sample::{Counters, ReceiverCounters};

    fn checked(
        readings: &[(u32, u64)],
        elapsed_s: u32,
        planned_s: Option<u32>,
    ) -> Result<usize, RunError> {
        let second = Duration::from_secs(1);
        let ticks = Ticks::new(second, Duration::ZERO, planned_s.map(|s| second * s));
        let planned = [0, 1].map(|id| PlannedFlow {
            id,
            direction: Direction::Down,
        });
        let mut samples = PeerSamples::new(&planned, ticks);
        let mut taken = 0;
        for (flow, tick) in readings {
            let sample = Sample {
                flow: *flow,
                tick: *tick,
                at_ns: 0,
                counters: Counters::Receiver(ReceiverCounters::default()),
            };
            taken += usize::from(samples.check(&sample, second * elapsed_s)?);
        }
        Ok(taken)
    }

    #[test]
    fn readings_of_the_plan_are_taken_and_no_others() {
        let all: Vec<(u32, u64)> = (0..=11)
            .flat_map(|tick| [(0, tick), (1, tick), (7, tick)])
            .collect();
        assert_eq!(checked(&all, 0, Some(10)).unwrap(), 24);
        assert!(checked(&[(0, 3), (0, 2)], 10, Some(10)).is_err());
        assert!(checked(&[(0, 27)], 10, Some(10)).is_err());
        assert!(checked(&[(0, u64::MAX)], 10, None).is_err());
        let same: Vec<(u32, u64)> = vec![(0, 1); 100];
        assert!(checked(&same, 10, Some(10)).is_err());
        // A test that ends by bytes has as many as its time has.
        assert!(checked(&[(0, 50)], 10, None).is_ok());
        assert!(checked(&[(0, 57)], 10, None).is_err());
    }
}
