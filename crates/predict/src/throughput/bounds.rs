//! The bounds on the rate of one direction of a throughput run.

use std::time::Duration;

use caudal_core::plan::Transport;
use caudal_core::prediction::Tolerance;
use caudal_core::quantity::{Unit, rate, time};
use caudal_core::units::{BitRate, ByteCount};

use super::observation::DirectionObservation;
use crate::loss::{LossResponse, loss_bound};
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::transfer::{INITIAL_WINDOW, slow_start};
use crate::window::window_bound;

/// Minimum retransmissions for a loss rate.
const MIN_RETRANSMITS: u64 = 10;

/// Minimum share of the time for slow start to have a bound of its own.
const MIN_SLOW_START_SHARE: f64 = 0.05;

/// The bounds that apply, in the order in which they are reported.
pub(super) fn rate_bounds(observed: &DirectionObservation<'_>) -> RateBounds {
    let mut bounds = RateBounds::new();
    let carries_acks = observed.bidirectional && observed.transport == Transport::Tcp;
    if let Some((bps, why)) = observed.wire
        && let Some(rate) = BitRate::from_f64(bps)
    {
        bounds.push(RateBound {
            factor: LimitingFactor::Wire,
            rate,
            derivation: why.to_owned(),
            assumes: if carries_acks {
                format!("{why}; every frame full, with only acknowledgements beside them, which take up to 6 %")
            } else {
                format!("{why}; nothing else on the link, every frame full")
            },
            source: "IEEE 802.3 framing; RFC 6349 section 3.3.1".to_owned(),
            tolerance: Tolerance {
                below: Tolerance::EXACT.below + if carries_acks { 0.06 } else { 0.0 },
                ..Tolerance::EXACT
            },
        });
    }
    if let Some(requested) = observed.requested {
        let all = BitRate::from_bps(
            requested
                .bps()
                .saturating_mul(u64::from(observed.flows.max(1))),
        );
        bounds.push(RateBound {
            factor: LimitingFactor::Requested,
            rate: all,
            derivation: format!("{} × {} per flow", observed.flows, rate(requested)),
            assumes: "the path carries the requested rate, and the sender keeps it".to_owned(),
            source: "the requested rate".to_owned(),
            tolerance: Tolerance::symmetric(Tolerance::EXACT.above + granularity(observed, all)),
        });
    }
    // On a loopback interface the round-trip time is processing time, not that of a path.
    if observed.loopback || observed.transport == Transport::Udp {
        return bounds;
    }
    let Some(min_rtt) = observed.min_rtt.filter(|rtt| !rtt.is_zero()) else {
        return bounds;
    };
    if let Some(window) = observed.window {
        bounds.extend(window_bound(window, min_rtt, 1));
    }
    let control = observed
        .congestion
        .and_then(LossResponse::for_congestion_control);
    if let (Some(control), Some(mss), Some(segments)) = (control, observed.mss, observed.segments)
        && observed.has_random_losses()
        && observed.retransmits >= MIN_RETRANSMITS
    {
        let loss = observed.retransmits as f64 / segments.max(1) as f64;
        bounds.extend(loss_bound(control, mss, min_rtt, loss, observed.flows));
    }
    let slow_start = slow_start_bound(observed, &bounds, min_rtt);
    bounds.extend(slow_start);
    bounds
}

/// The mean rate over an amount that begins with slow start, where slow start takes a considerable share of the time.
///
/// Without the handshake, as connections are opened before a test begins.
fn slow_start_bound(
    observed: &DirectionObservation<'_>,
    bounds: &RateBounds,
    min_rtt: Duration,
) -> Option<RateBound> {
    let (amount, mss) = (observed.amount?, observed.mss?);
    observed.wire?;
    let flows = u64::from(observed.flows.max(1));
    let lowest = bounds.binding()?;
    let each = BitRate::from_bps(lowest.rate.bps() / flows);
    let part = ByteCount::new(amount.get() / flows);
    let transfer = slow_start(part, mss, min_rtt, each, INITIAL_WINDOW)?;
    let seconds = transfer.total_s - transfer.handshake_s;
    let slow_start_s = f64::from(transfer.rounds) * min_rtt.as_secs_f64();
    let mean = BitRate::from_f64(amount.as_f64() * 8.0 / seconds)?;
    (slow_start_s > MIN_SLOW_START_SHARE * seconds).then(|| RateBound {
        factor: LimitingFactor::SlowStart,
        rate: mean,
        derivation: format!(
            "{} rounds of {} carry {} of {} bytes per flow, the rest is sent at {}: {} in all, {}",
            transfer.rounds,
            time(min_rtt),
            transfer.bytes_in_rounds,
            part.get(),
            rate(each),
            Unit::Seconds.show(seconds),
            rate(mean)
        ),
        assumes: "slow start from 10 segments that doubles every round trip, without loss, until the window fills the path".to_owned(),
        source: "Cardwell, Savage and Anderson 2000; RFC 5681 section 3.1; RFC 6928".to_owned(),
        tolerance: Tolerance::TIME,
    })
}

/// The share of the requested amount that one block of every flow is: the granularity of the rate.
fn granularity(observed: &DirectionObservation<'_>, requested: BitRate) -> f64 {
    let blocks = f64::from(observed.block_bytes) * f64::from(observed.flows) * 8.0;
    let share = blocks / (requested.as_f64() * observed.measured_s);
    if share.is_finite() {
        share.min(1.0)
    } else {
        1.0
    }
}
