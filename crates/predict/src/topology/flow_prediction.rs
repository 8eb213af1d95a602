//! The predictions for one flow.

use std::time::Duration;

use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, size, time};
use caudal_core::units::BitRate;
use caudal_topology::Hop;

use super::bottleneck_shares::NotCovered;
use super::bounds::path_loss;
use super::network::{FlowKind, FlowNetwork, RoutedFlow, highest_rate};
use super::round_trip::{queue_delay, round_trip};
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::window::bandwidth_delay_product;

/// The predictions for a flow, with its path and what they rest on.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPrediction {
    /// The links of the path.
    pub path: Vec<Hop>,
    /// The links of the return path.
    pub return_path: Vec<Hop>,
    /// The largest packet that both paths carry, bytes.
    pub mtu: u32,
    /// The round-trip time of a full segment and its acknowledgement, or of a message, with empty queues.
    pub rtt: Duration,
    /// The hop with the lowest rate.
    pub bottleneck: Option<Hop>,
    /// The bounds on its rate; without that of sharing where the formula does not cover it.
    pub bounds: RateBounds,
    /// The reason why no formula predicts its goodput, which is then missing from its predictions.
    pub not_covered: Option<NotCovered>,
    /// The predictions; their names are the same for every flow of a kind.
    pub predictions: Vec<Prediction>,
}

/// A share that no formula predicts.
pub(super) struct ShareNotCovered {
    /// The goodput of the max-min fair share, bit/s.
    pub max_min_bps: f64,
    pub reason: NotCovered,
}

impl ShareNotCovered {
    /// The max-min fair share, which is a reference and not what TCP gets.
    fn reference(&self) -> Prediction {
        let value = self.max_min_bps;
        Prediction::new(
            "max_min_share",
            "max-min fair share",
            value,
            Unit::BitPerSecond,
        )
        .bound_by(LimitingFactor::Sharing.name())
        .detail("with fair queueing only")
        .assumes(
            "every link serves its flows in turn (fair queueing), which a drop-tail queue does not",
        )
        .source("max-min fairness, Bertsekas and Gallager, Data Networks, section 6.5.2")
        .within(Tolerance::SHARE)
        .step(format!(
            "progressive filling gives {}",
            Unit::BitPerSecond.show(value)
        ))
        .step(format!(
            "the formula does not cover TCP here: {}",
            self.reason
        ))
    }
}

impl FlowPrediction {
    /// Predicts a flow from the `bounds` on its rate, of which its share may be `not_covered`, and, for UDP, the share of datagrams that are `arriving`.
    pub(super) fn new(
        network: &FlowNetwork<'_>,
        flow: &RoutedFlow,
        bounds: RateBounds,
        not_covered: Option<ShareNotCovered>,
        arriving: f64,
    ) -> Self {
        let rtt = round_trip(network, flow);
        let bottleneck = flow
            .path
            .iter()
            .filter_map(|hop| Some((highest_rate(network.topology.impairments(*hop))?, *hop)))
            .min_by_key(|(rate, _)| *rate);
        let predictions = match flow.parameters.kind {
            _ if flow.path.is_empty() => Vec::new(),
            FlowKind::Tcp { .. } => {
                let mut predictions = match &not_covered {
                    Some(share) => vec![share.reference()],
                    None => bounds
                        .prediction("goodput", "TCP goodput")
                        .into_iter()
                        .collect(),
                };
                predictions.extend(tcp(network, flow, &bounds, rtt, bottleneck));
                predictions
            }
            FlowKind::Udp { rate, payload } => udp(&bounds, (rate, payload), rtt, arriving),
            FlowKind::Echo { message, .. } => echo(rtt, message),
        };
        Self {
            path: flow.path.clone(),
            return_path: flow.return_path.clone(),
            mtu: flow.framing.mtu,
            rtt,
            bottleneck: bottleneck.map(|(_, hop)| hop),
            bounds,
            not_covered: not_covered.map(|share| share.reason),
            predictions,
        }
    }
}

fn tcp(
    network: &FlowNetwork<'_>,
    flow: &RoutedFlow,
    bounds: &RateBounds,
    rtt: Duration,
    bottleneck: Option<(BitRate, Hop)>,
) -> Vec<Prediction> {
    let mut predictions = each_bound(bounds);
    predictions.push(min_rtt(
        rtt,
        "round trip, full segment",
        "a full segment and its acknowledgement find empty queues",
    ));
    if let Some((link_rate, hop)) = bottleneck {
        let bdp = bandwidth_delay_product(link_rate, rtt);
        predictions.push(
            Prediction::new("bdp", "bandwidth-delay product", bdp.as_f64(), Unit::Bytes)
                .detail(format!("{} at {}", rate(link_rate), network.name(hop)))
                .assumes("empty queues")
                .source("RFC 6349 section 3.3.1")
                .within(Tolerance::TIME)
                .step(format!(
                    "{} × {} / 8 = {}",
                    rate(link_rate),
                    time(rtt),
                    size(bdp)
                )),
        );
        if let Some(delay) = queue_delay(network.topology.impairments(hop), flow.full_frame()) {
            let full = rtt + delay;
            predictions.push(
                Prediction::new(
                    "rtt_full",
                    "round trip, queue full",
                    full.as_secs_f64(),
                    Unit::Seconds,
                )
                .detail(format!(
                    "{} in the queue of {}",
                    time(delay),
                    network.name(hop)
                ))
                .assumes(
                    "the queue of the slowest link fills with full segments, and no other does",
                )
                .source("store and forward")
                .within(Tolerance::TIME)
                .step(format!("{} + {} = {}", time(rtt), time(delay), time(full))),
            );
        }
    }
    predictions.push(loss(
        path_loss(network, &flow.path),
        "segments lost",
        "losses at queues are not included",
    ));
    predictions
}

fn udp(
    bounds: &RateBounds,
    (offered, payload): (BitRate, u32),
    rtt: Duration,
    arriving: f64,
) -> Vec<Prediction> {
    let goodput = offered.as_f64() * arriving;
    let exceeds_wire = bounds
        .all()
        .iter()
        .any(|bound| bound.factor == LimitingFactor::Wire && bound.rate < offered);
    let factor = if exceeds_wire {
        LimitingFactor::Wire
    } else if arriving < 1.0 {
        LimitingFactor::Loss
    } else {
        LimitingFactor::Requested
    };
    let mut predictions = vec![
        Prediction::new("goodput", "UDP goodput", goodput, Unit::BitPerSecond)
            .bound_by(factor.name())
            .detail(format!("of {} offered", rate(offered)))
            .assumes(
                "drop-tail outputs drop from flows in proportion to their rates; TCP backs off",
            )
            .source("conservation at each output on the path")
            .within(Tolerance::symmetric(0.05))
            .step(format!(
                "{} × {} = {}",
                rate(offered),
                digits(arriving),
                Unit::BitPerSecond.show(goodput)
            )),
    ];
    predictions.extend(each_bound(bounds));
    predictions.push(
        loss(
            1.0 - arriving,
            "datagrams lost",
            "drop-tail outputs drop from flows in proportion to their rates",
        )
        .within(Tolerance::symmetric(0.05)),
    );
    predictions.push(min_rtt(
        rtt,
        "one way, minimum",
        &format!("datagrams of {payload} bytes find empty queues"),
    ));
    predictions
}

fn echo(rtt: Duration, message: u32) -> Vec<Prediction> {
    let per_second = 1.0 / rtt.as_secs_f64().max(1e-9);
    let goodput = per_second * f64::from(message) * 8.0;
    vec![
        min_rtt(
            rtt,
            "round trip",
            "queues are empty and hosts reply immediately",
        ),
        Prediction::new("goodput", "stop-and-wait", goodput, Unit::BitPerSecond)
            .bound_by("rtt")
            .detail(format!("{message} bytes per round trip"))
            .assumes("one message in flight")
            .source("Kurose and Ross, Computer Networking, section 3.4.2")
            .within(Tolerance::TIME)
            .step(format!(
                "{message} × 8 / {} = {}",
                time(rtt),
                Unit::BitPerSecond.show(goodput)
            )),
    ]
}

fn min_rtt(rtt: Duration, title: &str, assumes: &str) -> Prediction {
    Prediction::new("rtt", title, rtt.as_secs_f64(), Unit::Seconds)
        .detail("empty queues")
        .assumes(assumes)
        .source("store and forward; IEEE 802.3 framing")
        .within(Tolerance::TIME)
        .step(format!(
            "propagation delays and the serialisation of each frame on each link = {}",
            time(rtt)
        ))
}

fn loss(share: f64, title: &str, assumes: &str) -> Prediction {
    Prediction::new("loss", title, share, Unit::Share)
        .assumes(assumes)
        .source("independent losses; conservation")
        .within(Tolerance::FACTOR_TWO)
        .step(format!(
            "1 − the product of the shares that pass each link = {}",
            digits(share)
        ))
}

/// Each bound as a prediction of its own.
fn each_bound(bounds: &RateBounds) -> Vec<Prediction> {
    let prediction = |bound: &RateBound| {
        let title = format!("  ceiling: {}", bound.factor);
        let name = format!("ceiling_{}", bound.factor.name());
        Prediction::new(name, title, bound.rate.as_f64(), Unit::BitPerSecond)
            .assumes(bound.assumes.clone())
            .source(bound.source.clone())
            .within(bound.tolerance)
            .step(bound.derivation.clone())
    };
    bounds.all().iter().map(prediction).collect()
}
