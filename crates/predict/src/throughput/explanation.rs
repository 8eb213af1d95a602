//! Explanations of differences: the assumption of a prediction that failed.

use std::time::Duration;

use caudal_analysis::bottleneck::REACHED;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::plan::Transport;
use caudal_core::prediction::Tolerance;
use caudal_core::quantity::{Unit, digits, rate};
use caudal_core::units::BitRate;

use super::observation::DirectionObservation;
use crate::loss::{AckPolicy, LossResponse, cubic, mathis, pftk};
use crate::rate_bounds::{LimitingFactor, RateBound};
use crate::share::overload_loss;

/// Minimum timeout Linux adds to a round trip: TCP_RTO_MIN in include/net/tcp.h.
const MIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The explanation for a goodput above the bound of `factor`.
pub(super) fn exceeded(factor: LimitingFactor) -> String {
    match factor {
        LimitingFactor::Wire => "cannot tell which property of the link is wrong: its rate or MTU may differ, or its shaper \
             counts fewer bytes per frame than the wire carries"
            .to_owned(),
        LimitingFactor::Window => "the assumption of a constant window failed: during the test it differed from that at the end"
            .to_owned(),
        LimitingFactor::Loss => "the assumption of random losses failed, or segments were retransmitted that were not lost: \
             the congestion control kept a larger window than the model assumes"
            .to_owned(),
        LimitingFactor::SlowStart => "the assumption of slow start from 10 segments failed, or the round trip was shorter \
             than assumed: the connection was faster from the start"
            .to_owned(),
        LimitingFactor::Requested | LimitingFactor::Policer | LimitingFactor::Sharing | LimitingFactor::HalfDuplex | LimitingFactor::Shaper => format!(
            "cannot tell, because no observation explains more than {factor}"
        ),
    }
}

/// The assumption of a prediction that failed, from the bottleneck that was found.
pub(super) fn failed_assumption(
    observed: &DirectionObservation<'_>,
    binding: &RateBound,
    difference: f64,
) -> String {
    if difference > 0.0 {
        return exceeded(binding.factor);
    }
    let LimitedBy {
        limit, evidence, ..
    } = observed.limited_by;
    if let Some(Cause::Outage | Cause::MtuBlackHole | Cause::Stopped) = observed.limited_by.cause {
        return format!("the assumption of a test without interruptions failed: {evidence}");
    }
    match limit {
        Bottleneck::Sender => {
            format!("the assumption of a sender that always has data failed: {evidence}")
        }
        Bottleneck::Receiver => {
            format!("the assumption of a receiver that keeps up failed: {evidence}")
        }
        Bottleneck::SendBuffer => {
            format!("the assumption of a large enough send buffer failed: {evidence}")
        }
        Bottleneck::ReceiverWindow if binding.factor == LimitingFactor::Window => format!(
            "the window was the limit as predicted, but the round trip was longer or the window smaller than assumed: {evidence}"
        ),
        Bottleneck::ReceiverWindow => {
            format!("the assumption of a large enough window failed: {evidence}")
        }
        Bottleneck::Pacing => {
            format!("the sender kept its requested rate, not the rate the path allows: {evidence}")
        }
        Bottleneck::Unknown => format!("cannot tell, because {evidence}"),
        Bottleneck::Network => limited_by_network(observed, binding),
    }
}

/// The explanation for a goodput that the network limited below the prediction.
fn limited_by_network(observed: &DirectionObservation<'_>, binding: &RateBound) -> String {
    if observed.transport == Transport::Udp {
        return lost_datagrams(observed, binding);
    }
    let rounds = observed.min_rtt.map_or(f64::INFINITY, |rtt| {
        observed.measured_s / rtt.as_secs_f64().max(1e-9)
    });
    let cause = observed.limited_by.cause;
    let evidence = &observed.limited_by.evidence;
    match cause {
        Some(Cause::SlowStart) => {
            return format!("the assumption of a window that fills the path failed: {evidence}");
        }
        Some(Cause::Reordering) => {
            return format!("the assumption of segments that arrive in order failed: {evidence}");
        }
        Some(Cause::CongestionMarks) => {
            return format!(
                "the assumption that nothing but the link and losses hold TCP back failed: {evidence}"
            );
        }
        Some(Cause::Policer) => {
            return format!(
                "the assumption that nothing but the link limits the rate failed: {evidence}"
            );
        }
        Some(Cause::LinkRate | Cause::Bufferbloat) => {
            if observed.bidirectional {
                return "the other direction of this test delays its acknowledgements".to_owned();
            }
            if let Some(start) = time_of_start(observed, binding) {
                return start;
            }
            return format!(
                "cannot tell whether a slower link is on the path or other traffic shares it: {evidence}"
            );
        }
        Some(
            Cause::RandomLoss
            | Cause::Outage
            | Cause::MtuBlackHole
            | Cause::Stopped
            | Cause::Cpu
            | Cause::Application
            | Cause::ServerLimit,
        )
        | None => {}
    }
    let short = if rounds < 50.0 {
        format!(
            "; slow start takes a considerable share of a test of only {} round trips",
            digits(rounds.floor())
        )
    } else {
        String::new()
    };
    match observed.segments {
        Some(segments) if observed.retransmits > 0 && binding.factor != LimitingFactor::Loss => {
            let loss = observed.retransmits as f64 / segments.max(1) as f64;
            let lost = format!(
                "{} of {segments} segments were retransmitted ({})",
                observed.retransmits,
                Unit::Share.show(loss)
            );
            match compare_with_loss_models(observed, loss) {
                ModelComparison::Above(models) => format!(
                    "cannot tell, because {lost}, {models}, and the goodput was above that, so losses did not limit it{short}"
                ),
                ModelComparison::Within(models) => {
                    format!("the assumption of no loss failed: {lost}, {models}{short}")
                }
                ModelComparison::Unknown(why) => format!(
                    "cannot tell to what extent losses explain it: {lost}, and {why}{short}"
                ),
                ModelComparison::Below(models) => format!(
                    "cannot tell, because {lost}, {models}: too few losses to explain it, and {evidence}{short}"
                ),
            }
        }
        _ if binding.factor == LimitingFactor::Loss => format!(
            "the losses were not random, or the round trip was longer than its minimum; cannot tell \
             which, because the kernel counts retransmissions, not losses{short}"
        ),
        _ => format!(
            "cannot tell, because the congestion window limited the sender without a loss: a slower hop, other traffic \
             or a queue may be on the path{short}"
        ),
    }
}

/// The explanation by the start of the connection, where what is missing is no more than slow start takes at the predicted rate: from the
/// initial window of 10 segments (RFC 6928) one doubling a round trip to what fills the path, and two more.
fn time_of_start(observed: &DirectionObservation<'_>, binding: &RateBound) -> Option<String> {
    const MIN_ROUND_TRIPS: f64 = 4.0;
    const INITIAL_WINDOW_BITS: f64 = 10.0 * 1448.0 * 8.0;
    let missing_s = (1.0 - observed.goodput_bps / binding.rate.as_f64()) * observed.measured_s;
    let rtt_s = observed.min_rtt?.as_secs_f64();
    let trips = missing_s / rtt_s;
    let doublings = (binding.rate.as_f64() * rtt_s / INITIAL_WINDOW_BITS).log2();
    let max_trips = MIN_ROUND_TRIPS.max(doublings + 2.0);
    (trips.is_finite() && trips <= max_trips).then(|| {
        format!(
            "the start of the connection took {} of the test, {} of its round trips, in which it did not fill the path yet",
            Unit::Seconds.show(missing_s),
            digits(trips)
        )
    })
}

/// The explanation for fewer datagrams received than predicted: more loss than the excess, or fewer sent.
fn lost_datagrams(observed: &DirectionObservation<'_>, binding: &RateBound) -> String {
    let evidence = &observed.limited_by.evidence;
    let expected = observed
        .wire
        .and_then(|(wire, _)| BitRate::from_f64(wire))
        .zip(observed.sent_bps.and_then(BitRate::from_f64))
        .map_or(0.0, |(wire, sent)| overload_loss(sent, wire));
    let lost = observed.loss.unwrap_or(0.0);
    if let Some(sent) = observed
        .sent_bps
        .filter(|sent| *sent < REACHED * binding.rate.as_f64())
    {
        return format!(
            "the assumption of a sender that always has data failed: it sent only {}, of which {} was lost ({evidence})",
            Unit::BitPerSecond.show(sent),
            Unit::Share.show(lost)
        );
    }
    if lost == 0.0 {
        return format!("cannot tell, because nothing was lost: {evidence}");
    }
    if expected == 0.0 {
        return format!(
            "the assumption of no loss failed: {} of the datagrams were lost ({evidence})",
            Unit::Share.show(lost)
        );
    }
    format!(
        "cannot tell why less arrived than the link carries: {} was predicted to be lost as excess, {} was lost ({evidence})",
        Unit::Share.show(expected),
        Unit::Share.show(lost)
    )
}

/// The goodput against what the loss models give, each with the text of what they give.
enum ModelComparison {
    /// Losses explain it.
    Within(String),
    /// More arrived than such losses allow: they were not what limited it.
    Above(String),
    /// Less arrived than such losses leave.
    Below(String),
    /// No model applies, and the reason.
    Unknown(String),
}

/// A comparison of the goodput with what the loss models give for `loss`.
fn compare_with_loss_models(observed: &DirectionObservation<'_>, loss: f64) -> ModelComparison {
    let (Some(control), Some(mss), Some(rtt)) = (
        observed
            .congestion
            .and_then(LossResponse::for_congestion_control),
        observed.mss,
        observed.mean_rtt,
    ) else {
        let name = observed.congestion.unwrap_or("this congestion control");
        return ModelComparison::Unknown(format!("there is no loss model for {name}"));
    };
    let flows = u64::from(observed.flows.max(1));
    let all_flows = |each: Option<BitRate>| {
        each.map(|each| BitRate::from_bps(each.bps().saturating_mul(flows)))
    };
    // Timeouts are modelled only where the kernel counted some or does not count them.
    let low = match observed.timeouts {
        Some(0) => mathis(mss, rtt, loss, AckPolicy::EverySecond),
        _ => pftk(
            mss,
            rtt,
            loss,
            AckPolicy::EverySecond,
            rtt.saturating_add(MIN_TIMEOUT),
            None,
        ),
    };
    let high = match control {
        LossResponse::Reno => mathis(mss, rtt, loss, AckPolicy::EverySegment),
        LossResponse::Cubic => cubic(mss, rtt, loss),
    };
    let (Some(low), Some(high)) = (all_flows(low), all_flows(high)) else {
        return ModelComparison::Unknown("no model covers so much loss".to_owned());
    };
    let models = format!(
        "for which the loss models give {} to {}",
        rate(low),
        rate(high)
    );
    let tolerance = Tolerance::FACTOR_TWO;
    let min_bps = low.as_f64() * (1.0 - tolerance.below);
    let max_bps = high.as_f64() * (1.0 + tolerance.above);
    if observed.goodput_bps < min_bps {
        ModelComparison::Below(models)
    } else if observed.goodput_bps > max_bps {
        ModelComparison::Above(models)
    } else {
        ModelComparison::Within(models)
    }
}
