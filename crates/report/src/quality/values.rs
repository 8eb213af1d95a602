//! Latency under load as rows of the table of values.

use crate::bulk::push_direction;
use crate::export::value_table::{ValueRow, ValueTable};
use caudal_core::quality::QualityReport;

/// Adds each phase of a test of latency under load, and the test over time.
pub(crate) fn push_quality(table: &mut ValueTable, row: &ValueRow<'_>, report: &QualityReport) {
    for phase in &report.phases {
        let of_phase = |metric, unit, value| ValueRow {
            kind: "estimate",
            case: phase.load.name(),
            metric,
            unit,
            value,
            ..row.clone()
        };
        for load in &phase.directions {
            let of_phase = ValueRow {
                case: phase.load.name(),
                ..row.clone()
            };
            push_direction(table, &of_phase, &load.summary);
        }
        for probe in &phase.probes {
            let probed = ValueRow {
                flow: probe.probe.title(),
                n: Some(probe.sent),
                ..of_phase("rtt", "s", probe.mean_us / 1e6)
            };
            table.push(&probed);
        }
        if let Some(added) = phase.added_rtt {
            table.push(&of_phase("rtt_added", "s", added.mean_us / 1e6));
        }
        if let Some(found) = phase.responsiveness {
            table.push(&of_phase("rpm", "round trips per minute", found.rpm));
        }
    }
    for one in &report.intervals {
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        for (flow, metric, unit, value) in [
            ("down", "goodput", "bit/s", one.down_bps),
            ("up", "goodput", "bit/s", one.up_bps),
            ("UDP echo", "rtt", "s", seconds(one.rtt_us)),
            ("UDP echo", "loss", "share", one.loss()),
        ] {
            let Some(value) = value else { continue };
            table.push(&ValueRow {
                kind: "interval",
                case: one.load.name(),
                flow,
                metric,
                unit,
                start_s: Some(one.start_s),
                end_s: Some(one.end_s),
                value,
                ..row.clone()
            });
        }
    }
}
