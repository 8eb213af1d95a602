//! The predictions that apply to a direction of a run, compared with what was observed.

use caudal_analysis::summary::Context;
use caudal_core::bottleneck::{Bottleneck, Cause};
use caudal_core::prediction::{Prediction, PredictionCheck};
use caudal_core::quantity::Unit;
use caudal_core::summary::DirectionSummary;

use super::observation::DirectionObservation;
use super::{bounds, datagram_loss, explanation};
use crate::rate_bounds::RateBound;

/// The predictions for one direction of a run, compared with its result; none where no rate was measured.
#[must_use]
pub fn predictions(context: &Context<'_>, summary: &DirectionSummary) -> Vec<PredictionCheck> {
    DirectionObservation::from_run(context, summary)
        .map(|observed| compare(&observed))
        .unwrap_or_default()
}

/// The predictions that apply, compared with the observation: each bound by itself and last the lowest of them.
#[must_use]
pub fn compare(observed: &DirectionObservation<'_>) -> Vec<PredictionCheck> {
    let bounds = bounds::rate_bounds(observed);
    let direction = observed.direction.name();
    let mut all: Vec<PredictionCheck> = bounds
        .all()
        .iter()
        .map(|bound| compare_with_bound(observed, bound))
        .collect();
    // Without the rate of the link another bound may be the lowest.
    let is_complete = observed.wire.is_some()
        || observed.requested.is_some()
        || observed.limited_by.limit == Bottleneck::ReceiverWindow
        || observed.limited_by.cause == Some(Cause::RandomLoss);
    if let (true, Some(binding), Some(prediction)) = (
        is_complete,
        bounds.binding(),
        bounds.prediction(
            &format!("goodput_{direction}"),
            &format!("goodput, {direction}"),
        ),
    ) {
        let compared = PredictionCheck::new(prediction, observed.goodput_bps).because(|compared| {
            explanation::failed_assumption(observed, binding, compared.difference.unwrap_or(0.0))
        });
        all.push(compared);
    }
    all.extend(datagram_loss::compare(observed));
    all
}

fn compare_with_bound(observed: &DirectionObservation<'_>, bound: &RateBound) -> PredictionCheck {
    let direction = observed.direction.name();
    let prediction = Prediction::new(
        format!("{}_ceiling_{direction}", bound.factor.name()),
        format!("{} allows, {direction}", bound.factor),
        bound.rate.as_f64(),
        Unit::BitPerSecond,
    )
    .bound_by(bound.factor.name())
    .assumes(bound.assumes.clone())
    .source(bound.source.clone())
    .within(bound.tolerance)
    .step(bound.derivation.clone());
    PredictionCheck::with_upper_bound(prediction, observed.goodput_bps)
        .because(|_| explanation::exceeded(bound.factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::bottleneck::LimitedBy;
    use caudal_core::plan::{Direction, Transport};
    use caudal_core::units::{BitRate, ByteCount};
    use std::time::Duration;

    const WIRE: &str = "100.0 Mbit/s (given link rate), MTU 1500: 1448 of 1538 bytes on the wire";

    fn by_network() -> LimitedBy {
        by(Bottleneck::Network, "the congestion window held it")
    }

    fn by(limit: Bottleneck, evidence: &str) -> LimitedBy {
        LimitedBy {
            limit,
            cause: None,
            evidence: evidence.to_owned(),
        }
    }

    fn observed(limited_by: &LimitedBy) -> DirectionObservation<'_> {
        DirectionObservation {
            direction: Direction::Up,
            transport: Transport::Tcp,
            goodput_bps: 94.0e6,
            limited_by,
            flows: 1,
            requested: None,
            wire: Some((94_148_244.0, WIRE)),
            loopback: false,
            window: Some(ByteCount::new(6_000_000)),
            min_rtt: Some(Duration::from_millis(20)),
            congestion: Some("cubic"),
            mss: Some(1448),
            segments: Some(100_000),
            retransmits: 0,
            timeouts: Some(0),
            mean_rtt: Some(Duration::from_millis(20)),
            losses_spread: false,
            sent_bps: Some(94.0e6),
            loss: None,
            queued_s: None,
            measured_s: 10.0,
            amount: None,
            bidirectional: false,
            block_bytes: 1448,
        }
    }

    fn named<'a>(all: &'a [PredictionCheck], name: &str) -> &'a PredictionCheck {
        let found = all.iter().find(|one| one.prediction.name == name);
        found.unwrap_or_else(|| panic!("{name}"))
    }

    #[test]
    fn a_full_link_is_as_predicted() {
        let limited = by_network();
        let all = compare(&observed(&limited));
        let names: Vec<&str> = all.iter().map(|one| one.prediction.name.as_str()).collect();
        assert_eq!(
            names,
            ["wire_ceiling_up", "window_ceiling_up", "goodput_up"]
        );
        let goodput = named(&all, "goodput_up");
        assert!(goodput.holds && goodput.why.is_none());
        assert_eq!(goodput.prediction.binding.as_deref(), Some("wire"));
    }

    #[test]
    fn a_small_window_is_the_binding_bound() {
        let limited = by(Bottleneck::ReceiverWindow, "it held the sender back 95 %");
        let all = compare(&DirectionObservation {
            goodput_bps: 26.0e6,
            window: Some(ByteCount::new(65_535)),
            ..observed(&limited)
        });
        let goodput = named(&all, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("window"));
        assert!(goodput.holds, "{goodput:?}");
        let slower = compare(&DirectionObservation {
            goodput_bps: 20.0e6,
            window: Some(ByteCount::new(65_535)),
            ..observed(&limited)
        });
        let why = named(&slower, "goodput_up").why.clone().unwrap();
        assert!(
            why.starts_with("the window was the limit as predicted"),
            "{why}"
        );
    }

    #[test]
    fn each_bottleneck_names_the_assumption_that_failed() {
        for (limit, words) in [
            (
                Bottleneck::Sender,
                "a sender that always has data failed: evidence",
            ),
            (
                Bottleneck::Receiver,
                "a receiver that keeps up failed: evidence",
            ),
            (
                Bottleneck::SendBuffer,
                "a large enough send buffer failed: evidence",
            ),
            (
                Bottleneck::ReceiverWindow,
                "a large enough window failed: evidence",
            ),
            (Bottleneck::Unknown, "cannot tell, because evidence"),
            (
                Bottleneck::Network,
                "cannot tell, because the congestion window limited the sender",
            ),
        ] {
            let limited = by(limit, "evidence");
            let all = compare(&DirectionObservation {
                goodput_bps: 50e6,
                ..observed(&limited)
            });
            let why = named(&all, "goodput_up").why.clone().unwrap();
            assert!(why.contains(words), "{limit:?}: {why}");
        }
    }

    #[test]
    fn spread_losses_give_a_bound_and_bursts_only_an_explanation() {
        let limited = by_network();
        let lossy = DirectionObservation {
            goodput_bps: 16e6,
            retransmits: 200,
            ..observed(&limited)
        };
        let burst = compare(&lossy);
        assert!(
            burst
                .iter()
                .all(|one| one.prediction.name != "loss_ceiling_up")
        );
        let why = named(&burst, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("no loss failed: 200 of 100000 segments"),
            "{why}"
        );
        // 0.2 % of loss over 20 ms: about 11 to 16 Mbit/s.
        assert!(
            why.ends_with("for which the loss models give 11.22 Mbit/s to 15.86 Mbit/s"),
            "{why}"
        );
        let other = compare(&DirectionObservation {
            congestion: Some("bbr"),
            ..lossy
        });
        let why = named(&other, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("cannot tell to what extent losses explain it")
                && why.contains("there is no loss model for bbr"),
            "{why}"
        );
        let few = compare(&DirectionObservation {
            retransmits: 2,
            goodput_bps: 50e6,
            ..lossy
        });
        let why = named(&few, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("too few losses to explain it, and the congestion window held it"),
            "{why}"
        );
        let spread = compare(&DirectionObservation {
            losses_spread: true,
            ..lossy
        });
        let goodput = named(&spread, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("loss"));
        assert!(goodput.holds, "{goodput:?}");
        let bbr = compare(&DirectionObservation {
            losses_spread: true,
            congestion: Some("bbr"),
            ..lossy
        });
        assert!(
            bbr.iter()
                .all(|one| one.prediction.name != "loss_ceiling_up")
        );
    }

    fn caused(cause: Cause, evidence: &str) -> LimitedBy {
        LimitedBy {
            cause: Some(cause),
            ..by(Bottleneck::Network, evidence)
        }
    }

    #[test]
    fn what_limited_the_network_is_told_from_loss() {
        for (cause, words) in [
            (
                Cause::SlowStart,
                "a window that fills the path failed: evidence",
            ),
            (
                Cause::Policer,
                "nothing but the link limits the rate failed: evidence",
            ),
            (
                Cause::Reordering,
                "segments that arrive in order failed: evidence",
            ),
            (Cause::Bufferbloat, "cannot tell whether a slower link"),
            (Cause::LinkRate, "cannot tell whether a slower link"),
        ] {
            let limited = caused(cause, "evidence");
            let all = compare(&DirectionObservation {
                goodput_bps: 50e6,
                retransmits: 200,
                losses_spread: true,
                ..observed(&limited)
            });
            let why = named(&all, "goodput_up").why.clone().unwrap();
            assert!(why.contains(words), "{cause:?}: {why}");
            assert!(
                all.iter()
                    .all(|one| one.prediction.name != "loss_ceiling_up"),
                "{cause:?}"
            );
        }
    }

    #[test]
    fn losses_that_allow_less_than_arrived_do_not_explain_it() {
        let limited = by_network();
        let all = compare(&DirectionObservation {
            goodput_bps: 70e6,
            retransmits: 200,
            ..observed(&limited)
        });
        let why = named(&all, "goodput_up").why.clone().unwrap();
        assert!(
            why.starts_with("cannot tell, because 200 of 100000 segments")
                && why.ends_with("the goodput was above that, so losses did not limit it"),
            "{why}"
        );
    }

    #[test]
    fn random_loss_is_predicted_without_the_rate_of_the_link() {
        let limited = caused(Cause::RandomLoss, "a few at a time");
        let all = compare(&DirectionObservation {
            goodput_bps: 15e6,
            retransmits: 200,
            wire: None,
            ..observed(&limited)
        });
        let goodput = named(&all, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("loss"));
        assert!(goodput.holds, "{goodput:?}");
    }

    #[test]
    fn without_a_link_rate_there_is_no_bound_by_the_link() {
        let limited = by(Bottleneck::Sender, "out of processor");
        let no_link = DirectionObservation {
            wire: None,
            loopback: true,
            ..observed(&limited)
        };
        assert!(compare(&no_link).is_empty());
        let paced = compare(&DirectionObservation {
            requested: Some(BitRate::from_bps(94_000_000)),
            ..no_link
        });
        assert_eq!(
            named(&paced, "goodput_up").prediction.binding.as_deref(),
            Some("asked")
        );
        let veth = compare(&DirectionObservation {
            loopback: false,
            ..no_link
        });
        let names: Vec<&str> = veth
            .iter()
            .map(|one| one.prediction.name.as_str())
            .collect();
        assert_eq!(
            names,
            ["window_ceiling_up"],
            "an upper bound is not an expectation"
        );
    }

    #[test]
    fn a_rate_of_few_large_blocks_has_the_granularity_of_a_block() {
        let limited = by(Bottleneck::Pacing, "kept the rate");
        let coarse = DirectionObservation {
            wire: None,
            requested: Some(BitRate::from_bps(5_000_000)),
            goodput_bps: 5.24e6,
            measured_s: 2.0,
            block_bytes: 65_507,
            ..observed(&limited)
        };
        assert!(named(&compare(&coarse), "goodput_up").holds);
        let fine = DirectionObservation {
            block_bytes: 1448,
            ..coarse
        };
        assert!(!named(&compare(&fine), "goodput_up").holds);
    }

    #[test]
    fn a_small_amount_is_bound_by_slow_start() {
        let limited = by_network();
        let small = DirectionObservation {
            amount: Some(ByteCount::new(1_000_000)),
            min_rtt: Some(Duration::from_millis(40)),
            goodput_bps: 30e6,
            ..observed(&limited)
        };
        let all = compare(&small);
        let goodput = named(&all, "goodput_up");
        assert_eq!(goodput.prediction.binding.as_deref(), Some("slow_start"));
        // 0.2875 s minus the handshake of 40 ms.
        assert_eq!(format!("{:.2}", goodput.prediction.value / 1e6), "32.33");
        assert!(goodput.holds);
        let large = compare(&DirectionObservation {
            amount: Some(ByteCount::new(1_000_000_000)),
            goodput_bps: 94e6,
            ..small
        });
        assert_eq!(
            named(&large, "goodput_up").prediction.binding.as_deref(),
            Some("wire")
        );
    }

    #[test]
    fn acknowledgements_of_the_other_direction_share_the_link() {
        let limited = by_network();
        let half = DirectionObservation {
            goodput_bps: 91.4e6,
            ..observed(&limited)
        };
        assert!(!named(&compare(&half), "goodput_up").holds);
        assert!(
            named(
                &compare(&DirectionObservation {
                    bidirectional: true,
                    ..half
                }),
                "goodput_up"
            )
            .holds
        );
    }

    #[test]
    fn more_than_the_link_carries_questions_the_link() {
        let limited = by_network();
        let all = compare(&DirectionObservation {
            goodput_bps: 99e6,
            ..observed(&limited)
        });
        let why = named(&all, "goodput_up").why.clone().unwrap();
        assert!(
            why.starts_with("cannot tell which property of the link is wrong"),
            "{why}"
        );
        assert_eq!(
            named(&all, "wire_ceiling_up").why.as_deref(),
            Some(why.as_str())
        );
    }

    #[test]
    fn datagrams_in_excess_of_the_link_rate_are_lost() {
        let limited = by(Bottleneck::Network, "2000 datagrams were lost on the way");
        let udp = DirectionObservation {
            transport: Transport::Udp,
            goodput_bps: 95.7e6,
            wire: Some((95_708_712.0, WIRE)),
            requested: Some(BitRate::from_bps(120_000_000)),
            sent_bps: Some(120e6),
            loss: Some(0.2024),
            ..observed(&limited)
        };
        let all = compare(&udp);
        let loss = named(&all, "loss_up");
        assert_eq!(format!("{:.4}", loss.prediction.value), "0.2024");
        assert!(loss.holds && named(&all, "goodput_up").holds);
        let worse = compare(&DirectionObservation {
            loss: Some(0.5),
            goodput_bps: 60e6,
            ..udp
        });
        assert!(
            named(&worse, "loss_up")
                .why
                .clone()
                .unwrap()
                .contains("cannot tell why more were lost")
        );
        let why = named(&worse, "goodput_up").why.clone().unwrap();
        let words =
            "cannot tell why less arrived than the link carries: 20.24 % was predicted to be lost";
        assert!(why.starts_with(words), "{why}");
        let slow = compare(&DirectionObservation {
            sent_bps: Some(84e6),
            loss: Some(0.05),
            goodput_bps: 80e6,
            ..udp
        });
        let why = named(&slow, "goodput_up").why.clone().unwrap();
        assert!(
            why.contains("it sent only 84 Mbit/s, of which 5 % was lost"),
            "{why}"
        );
        let below = compare(&DirectionObservation {
            requested: Some(BitRate::from_bps(50_000_000)),
            sent_bps: Some(50e6),
            loss: Some(0.1),
            goodput_bps: 45e6,
            ..udp
        });
        let why = named(&below, "goodput_up").why.clone().unwrap();
        assert!(why.contains("no loss failed: 10 %"), "{why}");
    }
}
