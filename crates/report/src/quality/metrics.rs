//! The metrics of latency under load that are compared.

use crate::compare::run_metrics::{RunMetrics, mean};
use caudal_core::quality::{PhaseReport, QualityReport};
use caudal_core::quantity::Unit;

/// Adds each phase.
pub(crate) fn add_phases(metrics: &mut RunMetrics, report: &QualityReport, at_s: f64) {
    for phase in &report.phases {
        add_phase(metrics, phase, at_s);
    }
}

/// Adds a phase of a test of latency under load.
fn add_phase(metrics: &mut RunMetrics, phase: &PhaseReport, at_s: f64) {
    let load = phase.load.name();
    for one in &phase.directions {
        let name = format!("goodput {} {load}", one.summary.direction.name());
        let goodput = one.summary.goodput_mean();
        metrics.add("", &name, Some(Unit::BitPerSecond), at_s, goodput);
    }
    let udp = phase.echo();
    let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
    let times = [
        ("rtt", seconds(udp.map(|udp| udp.mean_us))),
        ("rtt_p95", seconds(udp.and_then(|udp| udp.p95_us))),
        (
            "rtt_added",
            seconds(phase.added_rtt.map(|added| added.mean_us)),
        ),
    ];
    for (name, value) in times {
        metrics.add(
            "",
            &format!("{name} {load}"),
            Some(Unit::Seconds),
            at_s,
            value,
        );
    }
    let loss = udp.and_then(|udp| mean(udp.loss));
    metrics.add("", &format!("loss {load}"), Some(Unit::Share), at_s, loss);
    let rpm = phase.responsiveness.map(|found| found.rpm);
    metrics.add("", &format!("rpm {load}"), None, at_s, rpm);
}
