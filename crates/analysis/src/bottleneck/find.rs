//! Finding the bottleneck of a flow.

use super::evidence::{Evidence, REACHED, percent};
use super::tcp::find_tcp;
use super::udp::find_udp;
use caudal_core::bottleneck::{Bottleneck, LimitedBy};

/// Minimum time over which the kernel's account, kept in ticks of up to 10 ms, means anything, ns.
const MIN_ELAPSED_NS: u64 = 50_000_000;

/// Finds the bottleneck of a flow: the first that applies; see the module for the sources.
#[must_use]
pub fn find(evidence: &Evidence<'_>) -> LimitedBy {
    let measured = evidence.measured;
    if measured.elapsed_ns < MIN_ELAPSED_NS {
        return LimitedBy::new(
            Bottleneck::Unknown,
            "the flow ended before the kernel's account, kept in ticks, means anything",
        );
    }
    let sent_bps = measured.sent_bps();
    if let Some(asked) = evidence.asked_bps
        && sent_bps >= REACHED * asked as f64
        && (!evidence.is_udp || measured.goodput_bps() >= REACHED * asked as f64)
    {
        return LimitedBy::new(
            Bottleneck::Pacing,
            format!(
                "the sender reached {} of the rate asked for",
                percent(sent_bps / asked as f64)
            ),
        );
    }
    if evidence.is_udp {
        find_udp(evidence)
    } else {
        find_tcp(evidence)
    }
}
