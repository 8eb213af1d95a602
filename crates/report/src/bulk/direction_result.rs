//! The metrics of a direction of a bulk transfer that are compared.

use crate::compare::WithinRunEstimate;
use crate::compare::run_metrics::{RunMetrics, mean};
use caudal_core::quantity::Unit;
use caudal_core::run::RepeatDirection;
use caudal_core::summary::DirectionSummary;

/// The results of a direction: name, unit and value of each metric.
pub(super) struct DirectionResult {
    direction: &'static str,
    metrics: [(&'static str, Unit, Option<f64>); 7],
    /// The goodput with the interval within the run.
    goodput: Option<WithinRunEstimate>,
}

impl From<&DirectionSummary> for DirectionResult {
    fn from(summary: &DirectionSummary) -> Self {
        let loss = summary.loss.as_ref().and_then(|loss| loss.fraction);
        let tcp = summary.tcp.unwrap_or_default();
        let jitter_us = summary.delay.map(|delay| delay.jitter_rfc3550_us);
        Self {
            direction: summary.direction.name(),
            goodput: summary.goodput_bps.map(|estimate| WithinRunEstimate {
                estimate,
                is_trusted: summary.goodput_trusted == Some(true),
            }),
            metrics: [
                ("goodput", Unit::BitPerSecond, summary.goodput_mean()),
                ("sent", Unit::BitPerSecond, summary.sent_bps),
                ("loss", Unit::Share, mean(loss)),
                ("CE marks", Unit::Share, ce_share(summary)),
                ("jitter", Unit::Seconds, jitter_us.map(|us| us / 1e6)),
                (
                    "retransmits",
                    Unit::Segments,
                    tcp.retransmits.map(|count| count as f64),
                ),
                ("rtt", Unit::Seconds, tcp.rtt_mean_us.map(|us| us / 1e6)),
            ],
        }
    }
}

/// The share of the packets that arrived marked CE, of those that could be.
fn ce_share(summary: &DirectionSummary) -> Option<f64> {
    let tcp = summary.tcp.as_ref().and_then(|tcp| tcp.ecn?.ce_share());
    tcp.or_else(|| summary.marks.as_ref()?.ce_share())
}

impl From<&RepeatDirection> for DirectionResult {
    fn from(repeat: &RepeatDirection) -> Self {
        let loss = repeat.loss.as_ref().and_then(|loss| loss.fraction);
        Self {
            direction: repeat.direction.name(),
            // A repeat is one of several runs, whose spread decides.
            goodput: None,
            metrics: [
                ("goodput", Unit::BitPerSecond, mean(repeat.goodput_bps)),
                ("sent", Unit::BitPerSecond, None),
                ("loss", Unit::Share, mean(loss)),
                ("CE marks", Unit::Share, None),
                ("jitter", Unit::Seconds, None),
                ("retransmits", Unit::Segments, None),
                ("rtt", Unit::Seconds, None),
            ],
        }
    }
}

/// Adds the metrics of the directions, with the direction in their names where there are several.
pub(super) fn add_directions(metrics: &mut RunMetrics, directions: &[DirectionResult], at_s: f64) {
    for one in directions {
        let suffix = if directions.len() > 1 {
            format!(" {}", one.direction)
        } else {
            String::new()
        };
        for (name, unit, value) in one.metrics {
            metrics.add("", &format!("{name}{suffix}"), Some(unit), at_s, value);
        }
        metrics.add_within_run(&format!("goodput{suffix}"), one.goodput);
    }
}
