//! The duration of trials, as far as it is known beforehand.

use std::time::Duration;

use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowSpec};

use crate::flow_times::FlowTimes;
use crate::predictions::cycle_time;
use crate::testbed::{Testbed, is_echo};
use crate::trial::lead_time;

/// The time of a trial beside its lead and its flows: building and removing the lab, starting servers, the last reports.
const OVERHEAD: Duration = Duration::from_millis(900);

/// The time that a trial of a case takes with everything around it.
pub(crate) fn time_of_trial(case: &Case, testbed: &Testbed) -> Duration {
    OVERHEAD + lead_time(case, testbed) + trial_duration(case, testbed)
}

/// The duration of a trial of a case from its start, as far as it is known beforehand.
fn trial_duration(case: &Case, testbed: &Testbed) -> Duration {
    let ends = case.flows.iter().map(|flow| {
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
    let messages = flow.messages.unwrap_or(DEFAULT_MESSAGES);
    let messages = u32::try_from(messages).unwrap_or(u32::MAX);
    let each = if is_echo(flow) {
        flow.every.or_else(|| cycle_time(flow, testbed))
    } else {
        None
    };
    each.map_or(case.measure, |each| each.saturating_mul(messages))
}
