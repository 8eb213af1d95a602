//! The duration of trials, as far as it is known beforehand.

use std::time::Duration;

use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowSpec, PathScope};

use crate::flow_times::{FlowTimes, probing_time};
use crate::predictions::cycle_time;
use crate::testbed::{Testbed, is_echo};
use crate::trial::lead_time;

/// Time of a trial beside its lead and its flows: building and removing the lab, starting servers, the last reports.
const OVERHEAD: Duration = Duration::from_millis(900);

/// The approximate times that parts of probing a path take, as measured over links of 10 and 100 Mbit/s: its hops and its MTU, the
/// capacities between both ends, the available bandwidth, the duplex mode.
const HOPS: Duration = Duration::from_secs(1);
const CAPACITIES: Duration = Duration::from_secs(38);
const AVAILABLE: Duration = Duration::from_secs(10);
const DUPLEX: Duration = Duration::from_secs(17);

/// The time that a trial of a case takes with everything around it.
pub(crate) fn time_of_trial(case: &Case, testbed: &Testbed) -> Duration {
    OVERHEAD + lead_time(case, testbed) + trial_duration(case, testbed)
}

/// The duration of a trial of a case from its start, as far as it is known beforehand.
pub(crate) fn trial_duration(case: &Case, testbed: &Testbed) -> Duration {
    // A trial that probes paths ends with that.
    let decides = |flow: &&FlowSpec| flow.path.is_some() || !case.probes_a_path();
    let ends = case.flows.iter().filter(decides).map(|flow| {
        let times = FlowTimes::new(case, flow);
        times
            .end()
            .unwrap_or_else(|| times.start + estimated_duration(case, flow, testbed))
    });
    ends.max().unwrap_or_default()
}

/// The estimated duration of a flow that ends by itself: the time that its messages need, or that of the measurement where it is not
/// known.
fn estimated_duration(case: &Case, flow: &FlowSpec, testbed: &Testbed) -> Duration {
    if let Some(path) = flow.path {
        return path_duration(path.measure, probing_time(case, flow));
    }
    let messages = flow.messages.unwrap_or(DEFAULT_MESSAGES);
    let messages = u32::try_from(messages).unwrap_or(u32::MAX);
    let each = if is_echo(flow) {
        flow.every.or_else(|| cycle_time(flow, testbed))
    } else {
        None
    };
    each.map_or(case.measure, |each| each.saturating_mul(messages))
}

/// The time that probing a path takes, with `links` for probing from one end.
fn path_duration(measure: PathScope, links: Duration) -> Duration {
    let parts = [
        (true, HOPS),
        (measure.has_links(), links),
        (measure.has_ends(), CAPACITIES),
        (measure.has_available(), AVAILABLE),
        (measure.has_duplex(), DUPLEX),
    ];
    let taken = parts.into_iter().filter(|(is_measured, _)| *is_measured);
    taken.map(|(_, time)| time).sum()
}
