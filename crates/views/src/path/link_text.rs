//! A link in words: its capacity with its interval, and its class.

use caudal_core::path::{PathLink, PathLinkClass, StatementConfidence};

/// The link with its interval and its class; its hops where it is more than one link.
pub(super) fn link_text(link: &PathLink) -> String {
    let place = match link.from_ttl {
        from if from.saturating_add(1) >= link.ttl => String::new(),
        0 => format!("this machine to hop {}: ", link.ttl),
        from => format!("hop {from} to {}: ", link.ttl),
    };
    let (capacity, interval) = link.capacity_and_interval();
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    let capacity = capacity.map(|capacity| format!("{capacity}{interval}, "));
    let doubt = match (link.class, link.confidence) {
        (PathLinkClass::Undetermined, _) => "",
        (_, StatementConfidence::Low) => " (low confidence)",
        (_, StatementConfidence::Medium | StatementConfidence::High) => "",
    };
    let class = link.class.name();
    format!("{place}{}{class}{doubt}", capacity.unwrap_or_default())
}
