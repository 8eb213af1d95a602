//! A link in words: its capacity with its interval, and its class.

use caudal_core::path::{PathLink, PathLinkClass, StatementConfidence};
use caudal_core::quantity::{EstimateInUnit, Unit, rate};

/// Its capacity, or the rate it has at least; `None` where neither is known.
pub(super) fn capacity(link: &PathLink) -> Option<String> {
    match (&link.capacity_bps, link.at_least_bps) {
        (Some(capacity), _) => Some(EstimateInUnit::new(capacity, Unit::BitPerSecond).mean()),
        (None, Some(bound)) => Some(format!("at least {}", rate(bound))),
        (None, None) => None,
    }
}

/// The link with its interval and its class; its hops where it is more than one link.
pub(super) fn link_text(link: &PathLink) -> String {
    let place = match link.from_ttl {
        from if from.saturating_add(1) >= link.ttl => String::new(),
        0 => format!("this machine to hop {}: ", link.ttl),
        from => format!("hop {from} to {}: ", link.ttl),
    };
    let interval = link
        .capacity_bps
        .as_ref()
        .and_then(|capacity| EstimateInUnit::new(capacity, Unit::BitPerSecond).interval());
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    let capacity = capacity(link).map(|capacity| format!("{capacity}{interval}, "));
    let doubt = match (link.class, link.confidence) {
        (PathLinkClass::Undetermined, _) => "",
        (_, StatementConfidence::Low) => " (low confidence)",
        (_, StatementConfidence::Medium | StatementConfidence::High) => "",
    };
    let class = link.class.name();
    format!("{place}{}{class}{doubt}", capacity.unwrap_or_default())
}
