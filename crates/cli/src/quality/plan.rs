//! The phases of the test from its flags.

use super::args::QualityArgs;
use crate::exit::Failure;
use crate::plan_failure::plan_failure;
use caudal_core::plan::{PhaseLoad, Plan, ProbePeriods, QualityPlan, Rate};
use std::time::Duration;

/// The interval at which the flows' counters are read.
const INTERVAL: Duration = Duration::from_millis(200);
/// The maximum part of a phase with load that does not count, unless a flag says so.
const MAX_RAMP: Duration = Duration::from_secs(2);
/// The maximum time between the starts of two flows.
const MAX_STAGGER: Duration = Duration::from_millis(200);
/// The time allowed for the reply to a probe: longer than the queues of most links.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The time between two UDP echo messages: they take 57 kbit/s each way, and five seconds have enough of them for a 99th percentile.
const UDP_PERIOD: Duration = Duration::from_millis(15);
/// The time between two TCP echo messages.
const TCP_PERIOD: Duration = Duration::from_millis(100);
/// The time between two new connections.
const CONNECT_PERIOD: Duration = Duration::from_millis(200);
/// The maximum number of messages of a probe in a phase: longer phases have fewer in a second.
const MAX_MESSAGES: u32 = 200_000;

/// The phases: idle, download, upload, both at once.
///
/// # Errors
/// Names the flag that is out of range.
pub(super) fn phases(args: &QualityArgs, same_machine: bool) -> Result<Vec<QualityPlan>, Failure> {
    let phases = PhaseLoad::ALL.map(|load| phase(args, load, same_machine));
    for plan in &phases {
        Plan::Quality(plan.clone())
            .check()
            .map_err(|error| plan_failure(&error))?;
    }
    Ok(phases.to_vec())
}

fn phase(args: &QualityArgs, load: PhaseLoad, same_machine: bool) -> QualityPlan {
    let (time, ramp) = match load {
        PhaseLoad::Idle => (args.idle, Duration::ZERO),
        _ => (args.time, args.omit.unwrap_or(MAX_RAMP.min(args.time / 5))),
    };
    let period = |usual: Duration| usual.max(time / MAX_MESSAGES).as_nanos() as u64;
    QualityPlan {
        load,
        parallel: args.parallel,
        time,
        ramp,
        // All have started when half of the part that does not count is over.
        stagger: MAX_STAGGER.min(ramp / 2 / args.parallel.max(1)),
        interval: INTERVAL.min(time / 2).max(caudal_core::plan::MIN_INTERVAL),
        probes: ProbePeriods {
            udp_ns: period(UDP_PERIOD),
            tcp_ns: period(TCP_PERIOD),
            connect_ns: period(CONNECT_PERIOD),
        },
        timeout: TIMEOUT,
        rate: Rate::Max,
        congestion: args.congestion.clone(),
        dscp: args.dscp.map(caudal_core::dscp::Dscp::get),
        same_machine,
    }
}
