//! The predictions of flows that share a topology: their own bounds, and the share of each at what they have in common.

use std::collections::BTreeMap;

use caudal_topology::Topology;

use super::bottleneck_shares::TcpShare;
use super::bounds::{SharedLink, own_bounds};
use super::flow_prediction::{FlowPrediction, ShareNotCovered};
use super::max_min::MaxMinShare;
use super::network::{FlowNetwork, FlowParameters, SharedResource};
use crate::rate_bounds::RateBounds;

/// Predicts the results of `flows` over `topology`, in their order; a flow without a route has no predictions.
#[must_use]
pub fn predict_flows(topology: &Topology, flows: &[FlowParameters]) -> Vec<FlowPrediction> {
    let network = FlowNetwork::new(topology, flows);
    let capacities = network.capacities();
    let (arriving, udp_load) = network.datagrams(&capacities);
    let own_bounds: Vec<RateBounds> = network
        .flows
        .iter()
        .map(|flow| own_bounds(&network, flow))
        .collect();
    // The bounds in wire rate, which max-min sharing distributes.
    let max_wire_bps: Vec<f64> = own_bounds
        .iter()
        .zip(&network.flows)
        .map(|(bounds, flow)| {
            let payload = f64::from(flow.framing.tcp_payload_per_frame().max(1));
            bounds.binding().map_or(f64::MAX, |lowest| {
                lowest.rate.as_f64() * flow.full_frame() as f64 / payload
            })
        })
        .collect();
    let remaining: BTreeMap<SharedResource, f64> = capacities
        .iter()
        .map(|(resource, rate)| {
            let udp = udp_load.get(resource).copied().unwrap_or(0.0);
            (*resource, (rate - udp).max(0.0))
        })
        .collect();
    let shares = network.tcp_shares(&remaining, &max_wire_bps);
    let flows = network.flows.iter().zip(own_bounds).zip(shares);
    let mut predictions = Vec::with_capacity(network.flows.len());
    for (number, ((flow, mut bounds), share)) in flows.enumerate() {
        let mut not_covered = None;
        match share {
            TcpShare::Covered { share, basis } => {
                let shared = shared_link(&network, number, share, &udp_load);
                bounds.extend(shared.map(|shared| shared.bound(flow, basis)));
            }
            TcpShare::NotCovered { max_min, reason } => {
                let efficiency =
                    f64::from(flow.framing.tcp_payload_per_frame()) / flow.full_frame() as f64;
                not_covered = Some(ShareNotCovered {
                    max_min_bps: max_min.wire_bps * efficiency,
                    reason,
                });
            }
        }
        predictions.push(FlowPrediction::new(
            &network,
            flow,
            bounds,
            not_covered,
            arriving[number],
        ));
    }
    predictions
}

/// The link or medium whose share limits a flow; `None` when no other flow uses it.
fn shared_link<'a>(
    network: &'a FlowNetwork<'_>,
    number: usize,
    share: MaxMinShare,
    udp_load: &BTreeMap<SharedResource, f64>,
) -> Option<SharedLink<'a>> {
    let resource = share.limit?;
    let other_flows = (0..network.flows.len())
        .filter(|other| *other != number)
        .filter(|other| network.flows[*other].uses(network, resource))
        .count();
    (other_flows > 0).then(|| SharedLink {
        name: network.resource_name(resource),
        other_flows,
        wire_bps: share.wire_bps,
        udp_bps: udp_load.get(&resource).copied().unwrap_or(0.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossResponse;
    use crate::topology::NotCovered;
    use crate::topology::network::{FlowKind, highest_rate};
    use caudal_analysis::framing::Framing;
    use caudal_core::units::{BitRate, ByteCount};
    use caudal_topology::{Hop, NodeRole, Preset, TopologyFile};

    fn tcp(topology: &Topology, from: &str, to: &str) -> FlowParameters {
        FlowParameters {
            from: topology.node(from).unwrap(),
            to: topology.node(to).unwrap(),
            framing: Framing::default(),
            kind: FlowKind::Tcp {
                loss_response: Some(LossResponse::Cubic),
                window: ByteCount::new(4 << 20),
            },
        }
    }

    fn udp(topology: &Topology, from: &str, to: &str, mbit: u64) -> FlowParameters {
        let kind = FlowKind::Udp {
            rate: BitRate::from_bps(mbit * 1_000_000),
            payload: 1472,
        };
        FlowParameters {
            kind,
            ..tcp(topology, from, to)
        }
    }

    fn preset(name: &str) -> Topology {
        let file = Preset::by_name(name).unwrap().file(None).unwrap();
        Topology::resolve(&file).unwrap()
    }

    fn resolve(text: &str) -> Topology {
        let file: TopologyFile = toml::from_str(text).unwrap();
        Topology::resolve(&file).unwrap()
    }

    /// The goodput in Mbit/s and the limiting factor.
    fn goodput(prediction: &FlowPrediction) -> (f64, String) {
        let mut all = prediction.predictions.iter();
        let one = all.find(|one| one.name == "goodput").unwrap();
        (
            (one.value / 1e4).round() / 100.0,
            one.binding.clone().unwrap(),
        )
    }

    #[test]
    fn the_slowest_link_limits_one_flow_and_its_fair_share_limits_two() {
        let dumbbell = preset("dumbbell");
        let (one, other) = (tcp(&dumbbell, "h1", "h3"), tcp(&dumbbell, "h2", "h4"));
        let alone = predict_flows(&dumbbell, &[one]);
        assert_eq!(goodput(&alone[0]), (9.41, "wire".to_owned()));
        let bottleneck = alone[0].bottleneck.unwrap();
        assert_eq!(dumbbell.links[bottleneck.link].name, "bottleneck");
        for prediction in predict_flows(&dumbbell, &[one, other]) {
            assert_eq!(goodput(&prediction), (4.71, "sharing".to_owned()));
        }
    }

    #[test]
    fn datagrams_overload_an_output_and_leave_the_rest_to_tcp() {
        let star = preset("star");
        let floods = [udp(&star, "h1", "h2", 8), udp(&star, "h3", "h2", 8)];
        for prediction in predict_flows(&star, &floods) {
            let loss = prediction.predictions.iter().find(|one| one.name == "loss");
            assert!((loss.unwrap().value - 0.4018).abs() < 0.0001);
        }
        let mixed = [tcp(&star, "h1", "h2"), udp(&star, "h3", "h2", 3)];
        assert_eq!(
            goodput(&predict_flows(&star, &mixed)[0]),
            (6.46, "sharing".to_owned())
        );
        // A flow that shares no link has the whole rate.
        let apart = [tcp(&star, "h1", "h2"), udp(&star, "h2", "h3", 3)];
        assert_eq!(
            goodput(&predict_flows(&star, &apart)[0]),
            (9.41, "wire".to_owned())
        );
    }

    #[test]
    fn the_lowest_of_window_loss_policer_and_half_duplex_is_binding() {
        let link = |keys: &str| {
            resolve(&format!(
                "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
            ))
        };
        for (keys, factor) in [
            ("rate = \"100M\", delay = \"50ms\", loss = 0.0", "wire"),
            ("rate = \"1G\", delay = \"200ms\"", "window"),
            ("rate = \"100M\", delay = \"50ms\", loss = 0.01", "loss"),
            ("rate = \"10M\", duplex = \"half\"", "half_duplex"),
            (
                "rate = \"100M\", delay = \"20ms\", policer = { rate = \"5M\", burst = \"15k\" }",
                "policer",
            ),
            (
                "rate = \"100M\", delay = \"1ms\", shaper = { rate = \"5M\", burst = \"15k\" }",
                "shaper",
            ),
        ] {
            let topology = link(keys);
            let prediction = &predict_flows(&topology, &[tcp(&topology, "a", "b")])[0];
            assert_eq!(goodput(prediction).1, factor, "{keys}");
            let bounds = prediction.bounds.all();
            assert!(
                bounds
                    .iter()
                    .all(|one| one.rate >= prediction.bounds.binding().unwrap().rate)
            );
        }
    }

    /// Flows through one bottleneck of 10 Mbit/s with a queue of 50 frames, given the delays of their own links in ms.
    fn one_bottleneck(delays: &[u32], control: Option<LossResponse>) -> Vec<FlowPrediction> {
        let hosts: Vec<String> = (0..delays.len())
            .map(|n| format!("{{ name = \"s{n}\" }}, {{ name = \"d{n}\" }}"))
            .collect();
        let links: Vec<String> = delays
            .iter()
            .enumerate()
            .map(|(n, delay)| {
                format!("{{ between = [\"s{n}\", \"r1\"], delay = \"{delay}ms\" }}, {{ between = [\"r2\", \"d{n}\"] }}")
            })
            .collect();
        let topology = resolve(&format!(
            "host = [{}]\nrouter = [{{ name = \"r1\" }}, {{ name = \"r2\" }}]\nlink = [{}, {{ between = [\"r1\", \"r2\"], name = \"bottleneck\", rate = \"10M\", queue = {{ frames = 50 }} }}]",
            hosts.join(", "),
            links.join(", ")
        ));
        let flows: Vec<FlowParameters> = (0..delays.len())
            .map(|n| {
                let mut flow = tcp(&topology, &format!("s{n}"), &format!("d{n}"));
                if let FlowKind::Tcp { loss_response, .. } = &mut flow.kind {
                    *loss_response = control;
                }
                flow
            })
            .collect();
        predict_flows(&topology, &flows)
    }

    #[test]
    fn equal_round_trip_times_have_equal_shares_whatever_the_congestion_control() {
        for control in [None, Some(LossResponse::Reno), Some(LossResponse::Cubic)] {
            for prediction in one_bottleneck(&[10, 10, 10, 10], control) {
                assert_eq!(goodput(&prediction), (2.35, "sharing".to_owned()));
                assert_eq!(prediction.not_covered, None);
            }
        }
    }

    #[test]
    fn shares_follow_the_round_trip_times_with_their_queue() {
        let predictions = one_bottleneck(&[10, 20], Some(LossResponse::Reno));
        let [near, far] = [0, 1].map(|flow: usize| goodput(&predictions[flow]).0);
        // Empty: 20 and 40 ms with 2 frame times and acknowledgements of 1.3 ms. The queue: 50 x 1538 x 8 / 10 Mbit/s.
        let queue: f64 = 0.75 * 61.52;
        let expected = ((40.0 + 1.3 + queue) / (20.0 + 1.3 + queue)).powf(1.5);
        assert!(
            (near / far - expected).abs() < 0.01,
            "{near} {far} {expected}"
        );
        assert!((near + far - 9.41).abs() < 0.02);
        let sharing = predictions[0].bounds.binding().unwrap();
        assert_eq!(sharing.tolerance.above, 0.5);
    }

    #[test]
    fn very_different_round_trip_times_are_not_covered() {
        for prediction in one_bottleneck(&[5, 18, 48], Some(LossResponse::Cubic)) {
            assert!(
                prediction
                    .predictions
                    .iter()
                    .all(|one| one.name != "goodput")
            );
            let reference = prediction
                .predictions
                .iter()
                .find(|one| one.name == "max_min_share");
            assert!((reference.unwrap().value - 3.138e6).abs() < 1e4);
            let reason = prediction.not_covered.unwrap().to_string();
            assert!(
                reason.starts_with("round-trip times at bottleneck"),
                "{reason}"
            );
        }
        assert!(matches!(
            one_bottleneck(&[5, 48], None)[0].not_covered,
            Some(NotCovered::CongestionControls(_))
        ));
    }

    #[test]
    fn a_parking_lot_is_not_covered_and_its_max_min_share_is_half() {
        let topology = resolve(
            "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }, { name = \"d\" }, { name = \"e\" }, { name = \"f\" }]\n\
             router = [{ name = \"r0\" }, { name = \"r1\" }, { name = \"r2\" }]\n\
             link = [{ between = [\"a\", \"r0\"] }, { between = [\"c\", \"r0\"] }, { between = [\"d\", \"r1\"] }, \
             { between = [\"e\", \"r1\"] }, { between = [\"f\", \"r2\"] }, { between = [\"b\", \"r2\"] }, \
             { between = [\"r0\", \"r1\"], name = \"first\", rate = \"10M\" }, \
             { between = [\"r1\", \"r2\"], name = \"second\", rate = \"10M\" }]",
        );
        let flows = [("a", "b"), ("c", "d"), ("e", "f")].map(|(from, to)| tcp(&topology, from, to));
        for prediction in predict_flows(&topology, &flows) {
            assert!(
                prediction
                    .predictions
                    .iter()
                    .all(|one| one.name != "goodput")
            );
            let reference = prediction
                .predictions
                .iter()
                .find(|one| one.name == "max_min_share");
            assert!((reference.unwrap().value - 4.707e6).abs() < 2e4);
            let names = vec!["first".to_owned(), "second".to_owned()];
            assert_eq!(
                prediction.not_covered,
                Some(NotCovered::SeveralBottlenecks(names))
            );
        }
        // Without the flow over both there are two ends of one flow each.
        assert_eq!(
            goodput(&predict_flows(&topology, &flows[1..])[0]),
            (9.41, "wire".to_owned())
        );
    }

    #[test]
    fn links_in_a_row_with_the_same_flows_are_one_bottleneck() {
        let line = preset("line");
        let flow = tcp(&line, "h1", "h2");
        for prediction in predict_flows(&line, &[flow, flow]) {
            assert_eq!(goodput(&prediction), (47.07, "sharing".to_owned()));
        }
    }

    #[test]
    fn no_link_exceeds_its_capacity_with_any_number_of_flows() {
        for name in [
            "pair",
            "line",
            "dumbbell",
            "star",
            "policed",
            "two-paths",
            "wan",
        ] {
            let topology = preset(name);
            let hosts: Vec<usize> = (0..topology.nodes.len())
                .filter(|node| matches!(topology.nodes[*node].role, NodeRole::Host(_)))
                .collect();
            let mut flows = Vec::new();
            for from in &hosts {
                for to in hosts.iter().filter(|to| *to != from) {
                    flows.push(FlowParameters {
                        from: *from,
                        to: *to,
                        ..tcp(&topology, "h1", "h2")
                    });
                }
            }
            let mut load: BTreeMap<Hop, f64> = BTreeMap::new();
            for prediction in predict_flows(&topology, &flows) {
                // There is no rate and no delay between hosts of one site.
                if prediction.bounds.all().is_empty() || prediction.not_covered.is_some() {
                    continue;
                }
                for hop in &prediction.path {
                    *load.entry(*hop).or_insert(0.0) += goodput(&prediction).0 * 1e6;
                }
            }
            for (hop, load) in load {
                let Some(rate) = highest_rate(topology.impairments(hop)) else {
                    continue;
                };
                assert!(load <= rate.as_f64() * 0.9416, "{name}: {load} on {hop:?}");
            }
        }
    }
}
