//! Whether the load of a direction filled the path.

use caudal_core::bottleneck::{Bottleneck, Cause};
use caudal_core::quality::{DelayIncrease, FillVerdict, PathFill};
use caudal_core::summary::DirectionSummary;
use caudal_core::units::BitRate;

/// Minimum median delay that load adds in its direction for a queue to have been seen, µs: more than the noise of hosts.
const QUEUE_SEEN_US: f64 = 3_000.0;

/// The same in terms of the spread of the idle delays.
const QUEUE_SEEN_SPREADS: f64 = 4.0;

/// Minimum share of a known ceiling that fills the path.
const FULL_SHARE: f64 = 0.9;

/// Minimum share of bytes retransmitted to be named as what may have held a load back.
const MUCH_RETRANSMITTED: f64 = 0.01;

/// Minimum share of bytes retransmitted with which a queue has to be seen in this direction itself.
const LOSSY: f64 = 0.05;

/// What is known about the load of one direction in a phase.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoadEvidence<'a> {
    /// The flows.
    pub summary: &'a DirectionSummary,
    /// The share of their bytes that was retransmitted.
    pub retransmitted: Option<f64>,
    /// The delay that the phase adds in this direction.
    pub added: Option<&'a DelayIncrease>,
    /// The spread of the delays in this direction in the idle phase, µs.
    pub idle_spread_us: f64,
}

/// Whether this load filled the path.
pub(super) fn path_fill(load: &LoadEvidence<'_>) -> PathFill {
    let limited_by = load.summary.limited_by.as_ref();
    let at = load.summary.goodput_mean().map_or_else(String::new, |bps| {
        format!(", at {}", BitRate::from_bps(bps as u64))
    });
    if let Some(limit) = limited_by.filter(|limit| limit.is_out_of_cpu()) {
        let evidence = format!("{} limited it{at}", limit.name());
        return PathFill::new(FillVerdict::NotFilled, evidence);
    }
    let least_us = QUEUE_SEEN_US.max(QUEUE_SEEN_SPREADS * load.idle_spread_us);
    if let Some(added) = load.added.filter(|added| added.p50_us >= least_us) {
        let evidence = format!(
            "it added a median delay of {:.1} ms in its direction",
            added.p50_us / 1e3
        );
        return PathFill::new(FillVerdict::Filled, evidence);
    }
    let share = load.summary.ceiling.as_ref().and_then(|all| all.share);
    if let Some(share) = share.filter(|share| *share >= FULL_SHARE) {
        let evidence = format!("it reached {:.0} % of what the link carries", share * 100.0);
        return PathFill::new(FillVerdict::Filled, evidence);
    }
    let Some(limit) = limited_by else {
        return PathFill::new(FillVerdict::CannotTell, "what limited it is not known");
    };
    // Round trips that wait in the other direction, or behind segments that were lost, look like a queue in this one.
    let is_lossy = load.retransmitted >= Some(LOSSY);
    match (limit.limit, limit.cause) {
        (Bottleneck::Network, Some(Cause::LinkRate | Cause::Bufferbloat)) if is_lossy => {
            PathFill::new(FillVerdict::CannotTell, unknown(load.retransmitted, &at))
        }
        (Bottleneck::Network, Some(Cause::LinkRate | Cause::Bufferbloat | Cause::Policer)) => {
            let evidence = format!("{} limited it", limit.name());
            PathFill::new(FillVerdict::Filled, evidence)
        }
        (Bottleneck::Network, None) | (Bottleneck::Unknown, _) => {
            PathFill::new(FillVerdict::CannotTell, unknown(load.retransmitted, &at))
        }
        _ => {
            let evidence = format!("{} limited it{at}", limit.name());
            PathFill::new(FillVerdict::NotFilled, evidence)
        }
    }
}

/// Why it cannot be told whether a load with this share of retransmissions filled the path.
fn unknown(retransmitted: Option<f64>, at: &str) -> String {
    match retransmitted.filter(|share| *share >= MUCH_RETRANSMITTED) {
        Some(share) => format!(
            "{:.1} % of its bytes were retransmitted{at}, and no queue was seen: that is loss for another reason, a policer, or a queue \
             too short to be seen",
            share * 100.0
        ),
        None => format!("no queue was seen, and nothing else that limited it{at}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::bottleneck::LimitedBy;

    fn fill(limited_by: Option<LimitedBy>, added_ms: f64, idle_spread_us: f64) -> PathFill {
        fill_with(limited_by, added_ms, idle_spread_us, 0.03)
    }

    fn fill_with(
        limited_by: Option<LimitedBy>,
        added_ms: f64,
        idle_spread_us: f64,
        retransmitted: f64,
    ) -> PathFill {
        let text = r#"{"direction":"down","goodput_bps":10e6,"measured_s":8}"#;
        let mut summary: DirectionSummary = serde_json::from_str(text).unwrap();
        summary.limited_by = limited_by;
        path_fill(&LoadEvidence {
            summary: &summary,
            retransmitted: Some(retransmitted),
            added: DelayIncrease::above(&[0.0], &[added_ms * 1e3]).as_ref(),
            idle_spread_us,
        })
    }

    #[test]
    fn a_load_fills_the_path_where_a_queue_or_the_limiter_shows_it() {
        let network = |cause| Some(LimitedBy::because(cause, Bottleneck::Network, "…"));
        let cases = [
            (None, 40.0, 0.0, FillVerdict::Filled),
            // Delays that vary as much without load.
            (None, 40.0, 20e3, FillVerdict::CannotTell),
            (None, 1.0, 0.0, FillVerdict::CannotTell),
            (network(Cause::LinkRate), 0.0, 0.0, FillVerdict::Filled),
            (network(Cause::Policer), 0.0, 0.0, FillVerdict::Filled),
            (network(Cause::RandomLoss), 0.0, 0.0, FillVerdict::NotFilled),
            (network(Cause::SlowStart), 0.0, 0.0, FillVerdict::NotFilled),
            (
                Some(LimitedBy::new(Bottleneck::Network, "…")),
                0.0,
                0.0,
                FillVerdict::CannotTell,
            ),
            (
                Some(LimitedBy::new(Bottleneck::ReceiverWindow, "…")),
                0.0,
                0.0,
                FillVerdict::NotFilled,
            ),
            // A busy processor delays the probes as a queue does.
            (
                Some(LimitedBy::because(Cause::Cpu, Bottleneck::Sender, "…")),
                40.0,
                0.0,
                FillVerdict::NotFilled,
            ),
        ];
        for (limit, added_ms, spread_us, expected) in cases {
            let found = fill(limit.clone(), added_ms, spread_us);
            assert_eq!(found.verdict, expected, "{limit:?}: {found:?}");
        }
    }

    #[test]
    fn loss_is_named_where_it_may_have_held_the_load_back() {
        let limit = || Some(LimitedBy::new(Bottleneck::Network, "…"));
        let found = fill_with(limit(), 0.0, 0.0, 0.3);
        assert!(found.evidence.starts_with("30.0 %"), "{found:?}");
        assert!(found.evidence.contains("at 10 Mbit/s"), "{found:?}");
        // A link that loses a third, without a queue: no evidence of a full link.
        let link = Some(LimitedBy::because(
            Cause::LinkRate,
            Bottleneck::Network,
            "…",
        ));
        let found = fill_with(link.clone(), 0.0, 0.0, 0.3);
        assert_eq!(found.verdict, FillVerdict::CannotTell);
        let found = fill_with(link, 20.0, 0.0, 0.3);
        assert_eq!(found.verdict, FillVerdict::Filled);
    }
}
