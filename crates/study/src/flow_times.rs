//! The times at which the flows of a trial send.

use std::time::Duration;

use caudal_core::plan::MessageSizes;
use caudal_experiment::{Case, FlowKindFile, FlowSpec};

use crate::testbed::is_echo;

/// Minimum time of probing a path.
const MIN_PROBING: Duration = Duration::from_secs(1);
/// The size of echo messages of a flow that names none, bytes.
const DEFAULT_MESSAGE_BYTES: u32 = 64;

/// Maximum additional time of other flows beside the probing of a path: they end with it.
const BESIDE_A_PATH: Duration = Duration::from_secs(3600);

/// The times at which a flow sends, relative to the start of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FlowTimes {
    /// Its start.
    pub(crate) start: Duration,
    /// Its warm-up, which is excluded.
    pub(crate) omit: Duration,
    /// The duration of its measurement; `None` when it ends by itself.
    pub(crate) time: Option<Duration>,
}

impl FlowTimes {
    /// The times of a flow of a case.
    pub(crate) fn new(case: &Case, flow: &FlowSpec) -> Self {
        let whole = case.warm_up + case.measure;
        let is_path = flow.kind == FlowKindFile::Path;
        let begins_late = (flow.probe || is_path) && flow.start.is_zero();
        let start = if begins_late {
            case.warm_up
        } else {
            flow.start
        };
        let beside_path = !is_path && case.probes_a_path();
        let last = if beside_path {
            whole + BESIDE_A_PATH
        } else {
            whole
        };
        let end = flow.stop.unwrap_or(last).max(start);
        let begin = if end > case.warm_up {
            start.max(case.warm_up)
        } else {
            start
        };
        let by_itself = if is_echo(flow) {
            // A probe measures until the end of the trial, and a schedule has an end of its own.
            message_sizes(flow).len() > 1
                || !(flow.probe || flow.every.is_some() || flow.stop.is_some())
        } else {
            flow.bytes.is_some() || is_path
        };
        Self {
            start,
            omit: if by_itself || is_echo(flow) {
                Duration::ZERO
            } else {
                begin - start
            },
            time: (!by_itself).then_some(end - begin),
        }
    }

    /// Its latest end, where that is known.
    pub(crate) fn end(&self) -> Option<Duration> {
        self.time.map(|time| self.start + self.omit + time)
    }
}

/// The time after which probing a path from one end ends.
pub(crate) fn probing_time(case: &Case, flow: &FlowSpec) -> Duration {
    let time = flow.path.and_then(|path| path.time);
    time.unwrap_or(case.measure).max(MIN_PROBING)
}

/// The sizes of the messages of an echo flow, bytes; the default size where it names none.
pub(crate) fn message_sizes(flow: &FlowSpec) -> Vec<u32> {
    let named = flow.sizes.as_deref();
    let sizes = named.and_then(|sizes| sizes.parse::<MessageSizes>().ok());
    sizes.map_or_else(
        || vec![flow.length.unwrap_or(DEFAULT_MESSAGE_BYTES)],
        |sizes| sizes.as_slice().to_vec(),
    )
}

/// A duration in nanoseconds; the maximum when it is longer.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_experiment::Campaign;

    fn case(flow: &str) -> Case {
        let text = format!(
            "title = 'x'\n[topology]\nloopback = true\n[time]\nmeasure = '10s'\nwarm_up = '2s'\n\
             [[flow]]\nname = 'f'\nfrom = 'a'\nto = 'b'\n{flow}"
        );
        let file = toml::from_str(&text).unwrap();
        Campaign::unfold(&file, caudal_experiment::Variant::Full)
            .unwrap()
            .cases
            .remove(0)
    }

    fn times(flow: &str) -> (f64, f64, Option<f64>) {
        let case = case(flow);
        let times = FlowTimes::new(&case, &case.flows[0]);
        let seconds = |time: Duration| time.as_secs_f64();
        (
            seconds(times.start),
            seconds(times.omit),
            times.time.map(seconds),
        )
    }

    #[test]
    fn a_flow_is_measured_from_the_end_of_the_warm_up_or_its_own_start() {
        for (flow, expected) in [
            ("kind = 'tcp'", (0.0, 2.0, Some(10.0))),
            ("kind = 'tcp'\nstart = '1s'", (1.0, 1.0, Some(10.0))),
            ("kind = 'tcp'\nstart = '4s'", (4.0, 0.0, Some(8.0))),
            (
                "kind = 'tcp'\nstart = '4s'\nstop = '6s'",
                (4.0, 0.0, Some(2.0)),
            ),
            ("kind = 'tcp'\nbytes = '1M'", (0.0, 0.0, None)),
            ("kind = 'rtt'\nmessages = 50", (0.0, 0.0, None)),
            (
                "kind = 'rtt'\nprobe = true\nlength = 64",
                (2.0, 0.0, Some(10.0)),
            ),
            (
                "kind = 'rtt-udp'\nprobe = true\nevery = '10ms'\nlength = 64",
                (2.0, 0.0, Some(10.0)),
            ),
            ("kind = 'path'", (2.0, 0.0, None)),
            (
                "kind = 'tcp'\n[[flow]]\nname = 'p'\nkind = 'path'\nfrom = 'a'\nto = 'b'",
                (0.0, 2.0, Some(3610.0)),
            ),
        ] {
            assert_eq!(times(flow), expected, "{flow}");
        }
    }
}
