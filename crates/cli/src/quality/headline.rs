//! The test in a line before it begins.

use crate::output::text;
use crate::peer::CommandPeer;
use caudal_core::plan::QualityPlan;
use caudal_core::units::format_duration;

/// The test in a line: the phases, their flows and the other end.
pub(super) fn headline(peer: &CommandPeer, phases: &[QualityPlan]) -> String {
    let each: Vec<String> = phases
        .iter()
        .map(|phase| format!("{} {}", phase.load.name(), format_duration(phase.time)))
        .collect();
    let flows = phases.first().map_or(0, |phase| phase.parallel);
    text::fold(
        &format!(
            "latency under load with {}: {}; {flows} TCP flow{} a direction, probes over UDP and TCP",
            peer.describe(),
            each.join(", "),
            if flows == 1 { "" } else { "s" },
        ),
        4,
    )
}
