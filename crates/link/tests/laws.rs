//! Invariants of all stages, nodes and graphs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_link::graph::{GraphEgress, PortId};
use caudal_link::node::NetworkNode;
use caudal_link::random::Rng;
use caudal_link::report::ComponentReport;
use caudal_link::stage::{Stage, TimedFrame};
use caudal_link::time::SimTime;
use proptest::prelude::*;
use support::{KINDS, frame, graph, medium, stage, switch};

/// A time after the longest delay, an hour, and everything that can queue.
const END: SimTime = SimTime::from_ns(1 << 60);

/// Offers frames to `stage` and checks its counters at every step.
fn offer_and_check(
    stage: &mut dyn Stage,
    frames: u64,
    rng: &mut Rng,
) -> Result<Vec<TimedFrame>, TestCaseError> {
    let mut out = Vec::new();
    let mut now = 0;
    for id in 0..frames {
        now += rng.below(400_000);
        let before = out.len();
        stage.offer(SimTime::from_ns(now), frame(id, 4, rng), &mut out);
        if rng.below(20) == 0 {
            stage.pause(SimTime::from_ns(now), rng.below(50) as u16);
        }
        let latest = out[before..].iter().map(|delivery| delivery.at).max();
        prop_assert!(latest.is_none_or(|at| at <= SimTime::from_ns(now)));
        prop_assert!(stage.counters().is_balanced(stage.held()), "{stage:?}");
        prop_assert!(
            stage
                .next_event()
                .is_none_or(|at| at >= SimTime::from_ns(now))
        );
    }
    stage.advance(END, &mut out);
    prop_assert!(out.is_sorted_by_key(|delivery| delivery.at));
    let counters = stage.counters();
    prop_assert_eq!(counters.delivered.frames, out.len() as u64);
    prop_assert_eq!(counters.offered.frames, frames);
    prop_assert!(counters.is_balanced(stage.held()));
    prop_assert_eq!(stage.held().frames, 0);
    prop_assert_eq!(stage.next_event(), None);
    check_balance(&stage.report(END))?;
    Ok(out)
}

/// Checks that every part accounts for its frames; the stations of a medium do so together.
fn check_balance(report: &ComponentReport) -> Result<(), TestCaseError> {
    if report.kind != "station" {
        prop_assert!(report.counters.is_balanced(report.held), "{report:?}");
    }
    report.parts.iter().try_for_each(check_balance)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_frame_is_accounted_for_in_every_stage(kind in 0..KINDS, seed: u64) {
        let mut rng = Rng::new(seed, 0);
        let mut stage = stage(kind, 2, &mut rng);
        offer_and_check(stage.as_mut(), 60, &mut rng)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_result_to_the_frame(kind in 0..KINDS, seed: u64) {
        let run = || {
            let mut rng = Rng::new(seed, 1);
            let mut stage = stage(kind, 2, &mut rng);
            offer_and_check(stage.as_mut(), 60, &mut rng)
        };
        prop_assert_eq!(run()?, run()?);
    }

    #[test]
    fn every_frame_is_accounted_for_in_every_node(is_switch: bool, ports in 2_u64..6, seed: u64) {
        let mut rng = Rng::new(seed, 2);
        let mut node: Box<dyn NetworkNode> = if is_switch {
            Box::new(switch(ports, &mut rng))
        } else {
            Box::new(medium(ports, &mut rng))
        };
        let mut out = Vec::new();
        let mut now = 0;
        for id in 0..80 {
            now += rng.below(300_000);
            let port = rng.below(ports) as usize;
            node.offer(SimTime::from_ns(now), port, frame(id, ports, &mut rng), &mut out);
            prop_assert!(node.counters().is_balanced(node.held()));
        }
        node.advance(END, &mut out);
        prop_assert!(out.is_sorted_by_key(|exit| exit.at));
        prop_assert_eq!(node.counters().delivered.frames, out.len() as u64);
        prop_assert_eq!(node.held().frames, 0);
        check_balance(&node.report(END))?;
    }
}

/// The frames that arrive when random frames are offered to a random graph, and the reports of its nodes.
fn run_random_graph(seed: u64) -> (Vec<GraphEgress>, Vec<ComponentReport>) {
    let mut rng = Rng::new(seed, 3);
    let (mut graph, hosts) = graph(&mut rng);
    let mut out = Vec::new();
    let mut now = 0;
    for id in 0..12 {
        now += rng.below(500_000);
        let port = hosts[rng.below(hosts.len() as u64) as usize];
        let sent = frame(id, hosts.len() as u64, &mut rng);
        graph
            .offer(SimTime::from_ns(now), port, sent, &mut out)
            .unwrap();
    }
    graph.advance(END, &mut out);
    assert_eq!(graph.next_event(), None);
    (out, graph.report(END))
}

#[test]
fn a_hundred_thousand_random_graphs_deliver_in_order_and_account_for_every_frame() {
    let mut arrivals = 0;
    for seed in 0..100_000 {
        let (out, reports) = run_random_graph(seed);
        assert!(out.is_sorted_by_key(|arrival| arrival.at), "seed {seed}");
        for report in &reports {
            assert!(check_balance(report).is_ok(), "seed {seed}");
            assert_eq!(report.held.frames, 0, "seed {seed}: {report:?}");
        }
        arrivals += out.len();
    }
    assert!(arrivals > 500_000, "{arrivals}");
}

#[test]
fn the_same_graph_gives_the_same_result_twice() {
    for seed in 0..500 {
        assert_eq!(
            run_random_graph(seed),
            run_random_graph(seed),
            "seed {seed}"
        );
    }
}

#[test]
fn a_report_survives_json_and_contains_only_the_drops_that_occurred() {
    let (_, reports) = run_random_graph(11);
    let text = serde_json::to_string(&reports).unwrap();
    let parsed: Vec<ComponentReport> = serde_json::from_str(&text).unwrap();
    assert_eq!(parsed, reports);
    let json = serde_json::to_value(&reports).unwrap();
    let first = &json[0];
    assert!(first["kind"].is_string());
    assert!(first["counters"]["offered"]["frames"].is_u64());
    let dropped = first["counters"]["dropped"].as_object().unwrap();
    assert!(dropped.values().all(|totals| totals["frames"] != 0));
}

#[test]
fn loops_and_ports_that_do_not_exist_or_are_taken_are_refused() {
    let mut rng = Rng::new(0, 0);
    let mut graph = caudal_link::graph::NodeGraph::new();
    let nodes = [(); 3].map(|()| graph.add(switch(4, &mut rng)));
    let port = |node: usize, port| PortId { node, port };
    graph.connect(port(nodes[0], 0), port(nodes[1], 0)).unwrap();
    graph.connect(port(nodes[1], 1), port(nodes[2], 0)).unwrap();
    for (one, other) in [
        (port(nodes[0], 1), port(nodes[2], 1)),
        (port(nodes[0], 1), port(nodes[0], 2)),
        (port(nodes[0], 0), port(nodes[2], 1)),
        (port(nodes[0], 9), port(nodes[2], 1)),
        (port(9, 0), port(nodes[2], 1)),
    ] {
        assert!(graph.connect(one, other).is_err(), "{one:?} {other:?}");
    }
    let mut out = Vec::new();
    let sent = frame(0, 2, &mut rng);
    assert!(graph.offer(END, port(nodes[0], 4), sent, &mut out).is_err());
}
