//! The phases of a test, from its durations and what its path is like.

use super::slow_link::SlowLink;
use caudal_core::plan::{PhaseLoad, Plan, PlanError, ProbePeriods, QualityPlan, Rate};
use std::time::Duration;

/// The interval at which the flows' counters are read.
const INTERVAL: Duration = Duration::from_millis(200);
/// Maximum part of a phase with load that does not count, unless a flag says so.
const MAX_RAMP: Duration = Duration::from_secs(2);
/// Maximum time between the starts of two flows.
const MAX_STAGGER: Duration = Duration::from_millis(200);
/// The time allowed for the reply to a probe: longer than the queues of most links.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time between two UDP echo messages: they take 57 kbit/s each way, and five seconds have enough of them for a 99th percentile.
const UDP_PERIOD: Duration = Duration::from_millis(15);
/// The time between two TCP echo messages.
const TCP_PERIOD: Duration = Duration::from_millis(100);
/// The time between two new connections.
const CONNECT_PERIOD: Duration = Duration::from_millis(200);
/// Maximum number of messages of a probe in a phase: longer phases have fewer in a second.
const MAX_MESSAGES: u32 = 200_000;

/// The phases that are asked for.
#[derive(Debug, Clone)]
pub struct PhaseRequest {
    /// The duration of the phase without load.
    pub idle: Duration,
    /// The duration of each phase with load.
    pub time: Duration,
    /// The part at the beginning of each phase with load that does not count; `None` for the usual one.
    pub omit: Option<Duration>,
    /// The flows in each direction.
    pub parallel: u32,
    /// The congestion control of the flows at the sender; `None` for the usual one.
    pub congestion: Option<String>,
    /// The DSCP of flows and probes.
    pub dscp: Option<u8>,
}

impl PhaseRequest {
    /// Checks that every phase is within its limits.
    ///
    /// # Errors
    /// Names the quantity that is out of range.
    pub fn check(&self) -> Result<(), PlanError> {
        self.phases(false, None).map(drop)
    }

    /// The phases: idle, download, upload, both at once.
    ///
    /// # Errors
    /// Names the quantity that is out of range.
    pub(super) fn phases(
        &self,
        same_machine: bool,
        slow: Option<SlowLink>,
    ) -> Result<Vec<QualityPlan>, PlanError> {
        let phases = PhaseLoad::ALL.map(|load| match slow {
            None => self.phase(load, same_machine),
            Some(slow) => on_slow_link(self.phase(load, same_machine), slow),
        });
        for plan in &phases {
            Plan::Quality(plan.clone()).check()?;
        }
        Ok(phases.to_vec())
    }

    fn phase(&self, load: PhaseLoad, same_machine: bool) -> QualityPlan {
        let (time, ramp) = match load {
            PhaseLoad::Idle => (self.idle, Duration::ZERO),
            _ => (self.time, self.omit.unwrap_or(MAX_RAMP.min(self.time / 5))),
        };
        let period = |usual: Duration| usual.max(time / MAX_MESSAGES).as_nanos() as u64;
        QualityPlan {
            load,
            parallel: self.parallel,
            time,
            ramp,
            // All have started when half of the part that does not count is over.
            stagger: MAX_STAGGER.min(ramp / 2 / self.parallel.max(1)),
            interval: INTERVAL.min(time / 2).max(caudal_core::plan::MIN_INTERVAL),
            probes: ProbePeriods {
                udp_ns: period(UDP_PERIOD),
                tcp_ns: period(TCP_PERIOD),
                connect_ns: period(CONNECT_PERIOD),
            },
            timeout: TIMEOUT,
            rate: Rate::Max,
            congestion: self.congestion.clone(),
            dscp: self.dscp,
            same_machine,
        }
    }
}

/// The same phase with fewer probes, whose replies may wait for a long queue.
fn on_slow_link(plan: QualityPlan, slow: SlowLink) -> QualityPlan {
    QualityPlan {
        probes: slow.probes(plan.probes),
        timeout: slow.timeout(plan.timeout),
        interval: slow
            .interval(plan.interval, plan.parallel)
            .min(plan.time / 2),
        ..plan
    }
}

/// The round trips that a reply may take beyond the usual: a request on a new connection takes three, and a queue may double them.
const MAX_REPLY_ROUND_TRIPS: u32 = 6;

/// The same phase on a path with this round-trip time: replies have so much longer, in whole seconds.
pub(super) fn on_long_path(plan: QualityPlan, idle_rtt: Duration) -> QualityPlan {
    let longer = Duration::from_secs((MAX_REPLY_ROUND_TRIPS * idle_rtt).as_secs());
    QualityPlan {
        timeout: plan.timeout + longer,
        ..plan
    }
}
