//! The test in a line before it begins.

use crate::output::fold;
use crate::peer::describe;
use caudal_core::plan::QualityPlan;
use caudal_core::quantity::Unit;
use caudal_core::units::format_duration;
use caudal_measure::{QualityPhases, TestPeer};

/// The test in a line: the phases, their flows and the other end.
pub(super) fn headline(peer: &TestPeer, phases: &[QualityPlan]) -> String {
    let each: Vec<String> = phases
        .iter()
        .map(|phase| format!("{} {}", phase.load.name(), format_duration(phase.time)))
        .collect();
    let flows = phases.first().map_or(0, |phase| phase.parallel);
    fold(
        &format!(
            "latency under load with {}: {}; {flows} TCP flow{} a direction, probes over UDP and TCP",
            describe(peer),
            each.join(", "),
            if flows == 1 { "" } else { "s" },
        ),
        4,
    )
}

/// What the test does otherwise where the path is slow; `None` where it is not.
pub(super) fn slow_link_note(phases: &QualityPhases) -> Option<String> {
    let (slow, plan) = (phases.slow?, phases.plans.first()?);
    Some(format!(
        "slow link, about {}: a UDP probe every {}, and {} s for its reply",
        Unit::BitPerSecond.show(slow.bps),
        Unit::Seconds.show(plan.probes.udp_ns as f64 / 1e9),
        plan.timeout.as_secs(),
    ))
}
