//! The bounds on the rate of a flow: of its path alone, and of the other flows.

use std::time::Duration;

use caudal_core::prediction::Tolerance;
use caudal_core::quantity::{Unit, rate, time};
use caudal_core::units::BitRate;
use caudal_topology::Hop;

use super::bottleneck_shares::ShareBasis;
use super::network::{
    FlowKind, FlowNetwork, RoutedFlow, SEGMENTS_PER_ACK, counted_bytes, highest_rate, loss_share,
};
use super::round_trip::round_trip;
use crate::half_duplex::half_duplex_efficiency;
use crate::loss::loss_bound;
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::share::policed_tcp;
use crate::window::window_bound;

/// The bounds of a flow without other flows.
pub(super) fn own_bounds(network: &FlowNetwork<'_>, flow: &RoutedFlow) -> RateBounds {
    let mut bounds = RateBounds::new();
    match flow.parameters.kind {
        FlowKind::Tcp {
            loss_response,
            window,
        } => {
            add_wire_bounds(network, flow, &mut bounds);
            if flow.path.is_empty() || flow.framing.tcp_payload_per_frame() == 0 {
                return bounds;
            }
            let rtt = round_trip(network, flow);
            bounds.extend(window_bound(window, rtt, 1));
            let loss = path_loss(network, &flow.path);
            let mss = flow.framing.tcp_payload_per_frame();
            if let Some(response) = loss_response.filter(|_| loss > 0.0 && loss < 1.0) {
                bounds.extend(loss_bound(response, mss, rtt, loss, 1));
            }
            add_token_bucket_bounds(network, flow, rtt, &mut bounds);
        }
        FlowKind::Udp { rate: offered, .. } => {
            bounds.push(RateBound {
                factor: LimitingFactor::Requested,
                rate: offered,
                derivation: format!("{} of payload is offered", rate(offered)),
                assumes: "the source sends at a constant rate".to_owned(),
                source: "the rate of the flow".to_owned(),
                tolerance: Tolerance::EXACT,
            });
            add_wire_bounds(network, flow, &mut bounds);
        }
        FlowKind::Echo { .. } => {}
    }
    bounds
}

/// Adds the bound of the slowest link, and of the slowest medium that data and acknowledgements share.
fn add_wire_bounds(network: &FlowNetwork<'_>, flow: &RoutedFlow, bounds: &mut RateBounds) {
    let framing = &flow.framing;
    let (payload, wire) = match flow.parameters.kind {
        FlowKind::Udp { payload, .. } => (payload, framing.udp_wire_bytes(payload).unwrap_or(0)),
        _ => (
            framing.tcp_payload_per_frame(),
            framing.wire_bytes(u64::from(framing.mtu)),
        ),
    };
    if payload == 0 || wire == 0 {
        return;
    }
    let hops = flow.path.iter().filter_map(|hop| {
        let rate = highest_rate(network.topology.impairments(*hop))?;
        Some((rate, *hop))
    });
    let slowest = |half: bool| {
        hops.clone()
            .filter(|(_, hop)| !half || network.topology.is_half_duplex(*hop))
            .min_by_key(|(rate, _)| *rate)
    };
    if let Some((line, hop)) = slowest(false) {
        let part = f64::from(payload) / wire as f64;
        let value = BitRate::from_f64(line.as_f64() * part).unwrap_or(BitRate::ZERO);
        bounds.push(RateBound {
            factor: LimitingFactor::Wire,
            rate: value,
            derivation: format!(
                "{} at {} × {payload} / {wire} = {}",
                rate(line),
                network.name(hop),
                rate(value)
            ),
            assumes: "every frame full, nothing else on the link, no loss, at its highest rate"
                .to_owned(),
            source: "IEEE 802.3 clauses 3 and 4; RFC 6349 section 3.3.1".to_owned(),
            tolerance: Tolerance::EXACT,
        });
    }
    let tcp = matches!(flow.parameters.kind, FlowKind::Tcp { .. });
    if let Some((line, hop)) = slowest(true).filter(|_| tcp)
        && let Some(part) = half_duplex_efficiency(framing, SEGMENTS_PER_ACK)
    {
        let value = BitRate::from_f64(line.as_f64() * part).unwrap_or(BitRate::ZERO);
        bounds.push(RateBound {
            factor: LimitingFactor::HalfDuplex,
            rate: value,
            derivation: format!(
                "{} at {}, an acknowledgement per {SEGMENTS_PER_ACK} segments on the same medium: × {part:.4} = {}",
                rate(line),
                network.name(hop),
                rate(value)
            ),
            assumes: "no collisions and no idle time: an upper bound, the capture effect may take a third"
                .to_owned(),
            source: "IEEE 802.3 framing; RFC 1122 section 4.2.3.2; Ramakrishnan and Yang 1994".to_owned(),
            tolerance: Tolerance {
                below: 0.36,
                above: 0.02,
            },
        });
    }
}

/// Adds the bounds of policers and shapers on the path of a TCP flow.
fn add_token_bucket_bounds(
    network: &FlowNetwork<'_>,
    flow: &RoutedFlow,
    rtt: Duration,
    bounds: &mut RateBounds,
) {
    let mss = flow.framing.tcp_payload_per_frame();
    let wire = flow.framing.wire_bytes(u64::from(flow.framing.mtu)) as f64;
    for hop in &flow.path {
        let impairments = network.topology.impairments(*hop);
        if let Some(policer) = impairments.policer {
            let part = f64::from(mss) / counted_bytes(policer.measure, wire, 1.0);
            let through = BitRate::from_f64(policer.rate.as_f64() * part).unwrap_or(BitRate::ZERO);
            if let Some(value) = policed_tcp(through, policer.burst, mss, rtt) {
                bounds.push(RateBound {
                    factor: LimitingFactor::Policer,
                    rate: value,
                    derivation: format!(
                        "{} at {} is P = {} of payload; min(P, ¾·(P + 8·√(2 × {} × {mss})/{})) = {}",
                        rate(policer.rate),
                        network.name(*hop),
                        rate(through),
                        policer.burst.get(),
                        time(rtt),
                        rate(value)
                    ),
                    assumes: "Reno's sawtooth; a flow that loses more is slower still".to_owned(),
                    source: "RFC 5681 section 3.1 against the token bucket of RFC 2697".to_owned(),
                    tolerance: Tolerance::FACTOR_TWO,
                });
            }
        }
        if let Some(shaper) = impairments.shaper {
            let part = f64::from(mss) / counted_bytes(shaper.measure, wire, 1.0);
            let value = BitRate::from_f64(shaper.rate.as_f64() * part).unwrap_or(BitRate::ZERO);
            bounds.push(RateBound {
                factor: LimitingFactor::Shaper,
                rate: value,
                derivation: format!(
                    "{} at {} × {part:.4} = {}",
                    rate(shaper.rate),
                    network.name(*hop),
                    rate(value)
                ),
                assumes: "its bucket is soon empty".to_owned(),
                source: "RFC 2697".to_owned(),
                tolerance: Tolerance::symmetric(0.05),
            });
        }
    }
}

/// The share of frames lost at random on a path.
pub(super) fn path_loss(network: &FlowNetwork<'_>, path: &[Hop]) -> f64 {
    let arriving = path
        .iter()
        .map(|hop| 1.0 - loss_share(network.topology.impairments(*hop)))
        .product::<f64>();
    1.0 - arriving
}

/// A link or medium that a TCP flow shares with other flows.
pub(super) struct SharedLink<'a> {
    /// The name of the link or hub.
    pub name: &'a str,
    /// The number of other flows.
    pub other_flows: usize,
    /// The share of the flow on the wire, bit/s.
    pub wire_bps: f64,
    /// The rate of UDP on the wire, bit/s.
    pub udp_bps: f64,
}

impl SharedLink<'_> {
    /// The bound that the share sets on the goodput of `flow`.
    pub(super) fn bound(&self, flow: &RoutedFlow, basis: ShareBasis) -> RateBound {
        let payload = f64::from(flow.framing.tcp_payload_per_frame());
        let efficiency = payload / flow.full_frame() as f64;
        let share = BitRate::from_f64(self.wire_bps * efficiency).unwrap_or(BitRate::ZERO);
        let udp = if self.udp_bps > 0.0 {
            format!(
                "; UDP takes {} of the wire first",
                Unit::BitPerSecond.show(self.udp_bps)
            )
        } else {
            String::new()
        };
        const MAX_MIN: &str =
            "max-min fairness, Bertsekas and Gallager, Data Networks, section 6.5.2";
        let (bias, assumes, source) = match basis {
            ShareBasis::OnlyTcpFlow => (
                String::new(),
                "TCP takes what datagrams and acknowledgements leave",
                MAX_MIN,
            ),
            ShareBasis::EqualRtt => (
                String::new(),
                "TCP flows with the same round-trip time share equally what datagrams leave, in the long run",
                MAX_MIN,
            ),
            ShareBasis::RttBias(rtt) => (
                format!(
                    ", in proportion to 1/RTT^1.5 with {} when the queue is three quarters full",
                    time(rtt)
                ),
                "a drop-tail queue that is three quarters full on average; shares in proportion to 1/RTT^1.5, between 1/RTT and 1/RTT² when all lose at the same time",
                "Lakshman and Madhow 1997; RFC 9438 sections 4.3 and 5.1",
            ),
        };
        RateBound {
            factor: LimitingFactor::Sharing,
            rate: share,
            derivation: format!(
                "at {} with {} other flow{}{udp}{bias}: {} of the wire × {efficiency:.4} = {}",
                self.name,
                self.other_flows,
                if self.other_flows == 1 { "" } else { "s" },
                Unit::BitPerSecond.show(self.wire_bps),
                rate(share)
            ),
            assumes: assumes.to_owned(),
            source: source.to_owned(),
            tolerance: basis.tolerance(),
        }
    }
}
