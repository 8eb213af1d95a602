//! What holds for every cell, node and network, whatever is in them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_link::cell::{Cell, Delivery};
use caudal_link::counters::Report;
use caudal_link::dice::Dice;
use caudal_link::moment::Moment;
use caudal_link::network::{Arrival, Place};
use caudal_link::node::Node;
use proptest::prelude::*;
use support::{KINDS, cell, frame, medium, network, switch};

/// A little more than the hour that is the longest delay there is, on top of everything that can queue.
const END: Moment = Moment::from_ns(1 << 60);

/// Offers frames to `cell` and follows the account at every step.
fn follow(
    cell: &mut dyn Cell,
    frames: u64,
    dice: &mut Dice,
) -> Result<Vec<Delivery>, TestCaseError> {
    let mut out = Vec::new();
    let mut now = 0;
    for id in 0..frames {
        now += dice.below(400_000);
        let before = out.len();
        cell.offer(Moment::from_ns(now), frame(id, 4, dice), &mut out);
        if dice.below(20) == 0 {
            cell.pause(Moment::from_ns(now), dice.below(50) as u16);
        }
        let latest = out[before..].iter().map(|delivery| delivery.at).max();
        prop_assert!(latest.is_none_or(|at| at <= Moment::from_ns(now)));
        prop_assert!(cell.counters().balance(cell.held()), "{cell:?}");
        prop_assert!(
            cell.next_event()
                .is_none_or(|at| at >= Moment::from_ns(now))
        );
    }
    cell.advance(END, &mut out);
    prop_assert!(out.is_sorted_by_key(|delivery| delivery.at));
    let counters = cell.counters();
    prop_assert_eq!(counters.delivered.frames, out.len() as u64);
    prop_assert_eq!(counters.offered.frames, frames);
    prop_assert!(counters.balance(cell.held()));
    prop_assert_eq!(cell.held().frames, 0);
    prop_assert_eq!(cell.next_event(), None);
    balanced(&cell.report(END))?;
    Ok(out)
}

/// Whether every part accounts for its frames; stations of a medium do together only.
fn balanced(report: &Report) -> Result<(), TestCaseError> {
    if report.kind != "station" {
        prop_assert!(report.counters.balance(report.held), "{report:?}");
    }
    report.parts.iter().try_for_each(balanced)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_frame_is_accounted_for_in_every_cell(kind in 0..KINDS, seed: u64) {
        let mut dice = Dice::new(seed, 0);
        let mut cell = cell(kind, 2, &mut dice);
        follow(cell.as_mut(), 60, &mut dice)?;
    }

    #[test]
    fn the_same_seed_gives_the_same_result_to_the_frame(kind in 0..KINDS, seed: u64) {
        let run = || {
            let mut dice = Dice::new(seed, 1);
            let mut cell = cell(kind, 2, &mut dice);
            follow(cell.as_mut(), 60, &mut dice)
        };
        prop_assert_eq!(run()?, run()?);
    }

    #[test]
    fn every_frame_is_accounted_for_in_every_node(is_switch: bool, ports in 2_u64..6, seed: u64) {
        let mut dice = Dice::new(seed, 2);
        let mut node: Box<dyn Node> = if is_switch {
            Box::new(switch(ports, &mut dice))
        } else {
            Box::new(medium(ports, &mut dice))
        };
        let mut out = Vec::new();
        let mut now = 0;
        for id in 0..80 {
            now += dice.below(300_000);
            let port = dice.below(ports) as usize;
            node.offer(Moment::from_ns(now), port, frame(id, ports, &mut dice), &mut out);
            prop_assert!(node.counters().balance(node.held()));
        }
        node.advance(END, &mut out);
        prop_assert!(out.is_sorted_by_key(|exit| exit.at));
        prop_assert_eq!(node.counters().delivered.frames, out.len() as u64);
        prop_assert_eq!(node.held().frames, 0);
        balanced(&node.report(END))?;
    }
}

/// A random network, a little traffic, and everything that arrives.
fn random_network(seed: u64) -> (Vec<Arrival>, Vec<Report>) {
    let mut dice = Dice::new(seed, 3);
    let (mut network, hosts) = network(&mut dice);
    let mut out = Vec::new();
    let mut now = 0;
    for id in 0..12 {
        now += dice.below(500_000);
        let place = hosts[dice.below(hosts.len() as u64) as usize];
        let sent = frame(id, hosts.len() as u64, &mut dice);
        network
            .offer(Moment::from_ns(now), place, sent, &mut out)
            .unwrap();
    }
    network.advance(END, &mut out);
    assert_eq!(network.next_event(), None);
    (out, network.report(END))
}

#[test]
fn a_hundred_thousand_random_networks_deliver_in_order_and_account_for_every_frame() {
    let mut arrivals = 0;
    for seed in 0..100_000 {
        let (out, reports) = random_network(seed);
        assert!(out.is_sorted_by_key(|arrival| arrival.at), "seed {seed}");
        for report in &reports {
            assert!(balanced(report).is_ok(), "seed {seed}");
            assert_eq!(report.held.frames, 0, "seed {seed}: {report:?}");
        }
        arrivals += out.len();
    }
    assert!(arrivals > 500_000, "{arrivals}");
}

#[test]
fn the_same_network_gives_the_same_result_twice() {
    for seed in 0..500 {
        assert_eq!(random_network(seed), random_network(seed), "seed {seed}");
    }
}

#[test]
fn a_report_reads_as_json_and_names_only_the_drops_that_occurred() {
    let (_, reports) = random_network(11);
    let json = serde_json::to_value(&reports).unwrap();
    let first = &json[0];
    assert!(first["kind"].is_string());
    assert!(first["counters"]["offered"]["frames"].is_u64());
    let dropped = first["counters"]["dropped"].as_object().unwrap();
    assert!(dropped.values().all(|traffic| traffic["frames"] != 0));
}

#[test]
fn loops_and_ports_that_do_not_exist_or_are_taken_are_refused() {
    let mut dice = Dice::new(0, 0);
    let mut network = caudal_link::network::Network::new();
    let nodes = [(); 3].map(|()| network.add(switch(4, &mut dice)));
    let place = |node: usize, port| Place { node, port };
    network
        .join(place(nodes[0], 0), place(nodes[1], 0))
        .unwrap();
    network
        .join(place(nodes[1], 1), place(nodes[2], 0))
        .unwrap();
    for (one, other) in [
        (place(nodes[0], 1), place(nodes[2], 1)),
        (place(nodes[0], 1), place(nodes[0], 2)),
        (place(nodes[0], 0), place(nodes[2], 1)),
        (place(nodes[0], 9), place(nodes[2], 1)),
        (place(9, 0), place(nodes[2], 1)),
    ] {
        assert!(network.join(one, other).is_err(), "{one:?} {other:?}");
    }
    let mut out = Vec::new();
    let sent = frame(0, 2, &mut dice);
    assert!(
        network
            .offer(END, place(nodes[0], 4), sent, &mut out)
            .is_err()
    );
}
