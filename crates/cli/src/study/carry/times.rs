//! When the flows of a trial send, and how long it takes.

use std::time::Duration;

use caudal_experiment::{Case, DEFAULT_MESSAGES, FlowSpec};

use super::super::forecast;
use super::super::place::{self, Place};

/// When a flow sends, after the trial's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// It begins.
    pub start: Duration,
    /// What of it is left out.
    pub omit: Duration,
    /// How long is measured; `None` when it ends by itself.
    pub time: Option<Duration>,
}

impl Times {
    /// Of a flow of a case.
    #[must_use]
    pub fn of(case: &Case, flow: &FlowSpec) -> Self {
        let whole = case.warm_up + case.measure;
        let begins_late = flow.probe && flow.start.is_zero();
        let start = if begins_late {
            case.warm_up
        } else {
            flow.start
        };
        let end = flow.stop.unwrap_or(whole).max(start);
        let begin = if end > case.warm_up {
            start.max(case.warm_up)
        } else {
            start
        };
        let by_itself = if place::is_echo(flow) {
            // What only looks on does so until the trial's end, and a schedule knows its own.
            sizes(flow) > 1 || !(flow.probe || flow.every.is_some() || flow.stop.is_some())
        } else {
            flow.bytes.is_some()
        };
        Self {
            start,
            omit: if by_itself || place::is_echo(flow) {
                Duration::ZERO
            } else {
                begin - start
            },
            time: (!by_itself).then_some(end - begin),
        }
    }

    /// When it has ended at the latest, where that is known.
    #[must_use]
    pub fn end(&self) -> Option<Duration> {
        self.time.map(|time| self.start + self.omit + time)
    }
}

/// How many sizes an echo flow's messages have.
pub(super) fn sizes(flow: &FlowSpec) -> usize {
    flow.sizes
        .as_deref()
        .and_then(|sizes| crate::rtt::sizes(sizes).ok())
        .map_or(1, |sizes| sizes.list().len().max(1))
}

/// How long a trial of a case takes from its start, as far as that is known beforehand.
#[must_use]
pub fn length(case: &Case, place: &Place) -> Duration {
    let ends = case.flows.iter().map(|flow| {
        let times = Times::of(case, flow);
        times
            .end()
            .unwrap_or_else(|| times.start + guessed(case, flow, place))
    });
    ends.max().unwrap_or_default()
}

/// How long a flow may take that ends by itself: what its messages need, or the time measured where that is not known.
fn guessed(case: &Case, flow: &FlowSpec, place: &Place) -> Duration {
    let messages = flow.messages.unwrap_or(DEFAULT_MESSAGES);
    let messages = u32::try_from(messages).unwrap_or(u32::MAX);
    let each = if place::is_echo(flow) {
        flow.every.or_else(|| forecast::round(flow, place))
    } else {
        None
    };
    each.map_or(case.measure, |each| each.saturating_mul(messages))
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
        let times = Times::of(&case, &case.flows[0]);
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
        ] {
            assert_eq!(times(flow), expected, "{flow}");
        }
    }
}
