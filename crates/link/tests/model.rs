//! Network models: frames that enter at one host arrive at another, at the right time and in the right order.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_link::counters::DropReason;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::model::{HostArrival, NetworkModel};
use caudal_link::stage::Setting;
use caudal_link::time::SimTime;
use caudal_topology::{LinkEnd, Preset, Topology, TopologyFile};

fn topology(text: &str) -> Topology {
    let file: TopologyFile = toml::from_str(text).unwrap();
    Topology::resolve(&file).unwrap()
}

fn pair(keys: &str) -> Topology {
    topology(&format!(
        "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
    ))
}

fn preset(name: &str) -> Topology {
    let file = Preset::by_name(name).unwrap().file(None).unwrap();
    Topology::resolve(&file).unwrap()
}

fn run(network: &mut NetworkModel, until: SimTime) -> Vec<HostArrival> {
    let mut out = Vec::new();
    network.advance(until, &mut out);
    out
}

const LONG: SimTime = SimTime::from_ns(1_000_000_000_000);

#[test]
fn a_frame_takes_its_serialisation_time_and_the_delay() {
    let topology = pair("rate = \"10M\", delay = \"5ms\"");
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    network.offer(
        SimTime::START,
        LinkEnd::new(0, 0),
        Frame::with_length(7, 1518),
        &mut out,
    );
    network.offer(
        SimTime::START,
        LinkEnd::new(0, 1),
        Frame::with_length(8, 64),
        &mut out,
    );
    out.extend(run(&mut network, LONG));
    let seen: Vec<_> = out
        .iter()
        .map(|reached| (reached.at.as_ns(), reached.end, reached.frame.id))
        .collect();
    assert_eq!(
        seen,
        [
            (72 * 800 + 5_000_000, LinkEnd::new(0, 0), 8),
            (1526 * 800 + 5_000_000, LinkEnd::new(0, 1), 7)
        ]
    );
}

#[test]
fn a_switch_learns_queues_and_counts_by_link() {
    let topology = preset("star");
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let station = MacAddress::station;
    let mut out = Vec::new();
    let frame =
        |id, from, to| Frame::with_length(id, 1518).with_addresses(station(from), station(to));
    // The switch floods frames to an unknown station, and forwards the answer to one port.
    network.offer(SimTime::START, LinkEnd::new(0, 0), frame(1, 0, 1), &mut out);
    out.extend(run(&mut network, SimTime::from_ns(10_000_000)));
    let ends: Vec<_> = out.drain(..).map(|reached| reached.end).collect();
    assert_eq!(ends, [LinkEnd::new(1, 0), LinkEnd::new(2, 0)]);
    network.offer(
        SimTime::from_ns(10_000_000),
        LinkEnd::new(1, 0),
        frame(2, 1, 0),
        &mut out,
    );
    out.extend(run(&mut network, LONG));
    let ends: Vec<_> = out.iter().map(|reached| reached.end).collect();
    assert_eq!(ends, [LinkEnd::new(0, 0)]);
    let nodes = network.report(LONG);
    let [up, down] = network.link_report(&nodes, 0).unwrap();
    assert_eq!(
        (up.counters.offered.frames, up.counters.delivered.frames),
        (1, 1)
    );
    assert_eq!(
        (down.counters.offered.frames, down.counters.delivered.frames),
        (1, 1)
    );
    assert!(up.queue.is_some() && down.queue.is_some());
    let [up, down] = network.link_report(&nodes, 2).unwrap();
    assert_eq!(
        (up.counters.offered.frames, down.counters.delivered.frames),
        (0, 1)
    );
}

#[test]
fn a_half_duplex_link_collides_and_counts_it() {
    let topology = pair("rate = \"10M\", duplex = \"half\"");
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    for id in 0..100 {
        for end in 0..2 {
            network.offer(
                SimTime::START,
                LinkEnd::new(0, end),
                Frame::with_length(id, 1518),
                &mut out,
            );
        }
    }
    out.extend(run(&mut network, LONG));
    let nodes = network.report(LONG);
    for direction in network.link_report(&nodes, 0).unwrap() {
        assert_eq!(direction.counters.offered.frames, 100);
        assert!(
            direction.counters.is_balanced(direction.held),
            "{direction:?}"
        );
        assert!(direction.collisions.unwrap().all > 0);
        assert!(direction.counters.delivered.frames > 80);
    }
}

#[test]
fn a_hub_repeats_to_all_other_links() {
    let topology = topology(
        "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\nhub = [{ name = \"x\" }]\nlink = [{ between = [\"a\", \"x\"] }, { between = [\"x\", \"b\"] }, { between = [\"c\", \"x\"], loss = \"100%\" }]",
    );
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    network.offer(
        SimTime::START,
        LinkEnd::new(0, 0),
        Frame::with_length(1, 64),
        &mut out,
    );
    out.extend(run(&mut network, LONG));
    let ends: Vec<_> = out.iter().map(|reached| reached.end).collect();
    assert_eq!(ends, [LinkEnd::new(1, 1)]);
    let nodes = network.report(LONG);
    let [from_c, to_c] = network.link_report(&nodes, 2).unwrap();
    assert_eq!(from_c.counters.offered.frames, 0);
    assert_eq!(to_c.counters.dropped.by(DropReason::Loss).frames, 1);
    let [to_a, _] = network.link_report(&nodes, 0).unwrap();
    assert_eq!(to_a.counters.offered.frames, 1);
}

#[test]
fn links_that_are_not_modelled_have_no_ends() {
    let topology = preset("dumbbell");
    let network =
        NetworkModel::build(&topology, |link| topology.links[link].name == "bottleneck").unwrap();
    assert_eq!(
        network.ends().collect::<Vec<_>>(),
        [LinkEnd::new(0, 0), LinkEnd::new(0, 1)]
    );
}

#[test]
fn every_preset_carries_a_frame_over_each_link() {
    for preset in caudal_topology::PRESETS {
        let topology = Topology::resolve(&preset.file(None).unwrap()).unwrap();
        let mut network = NetworkModel::build(&topology, |_| true).unwrap();
        let mut out = Vec::new();
        for end in network.ends().collect::<Vec<_>>() {
            network.offer(SimTime::START, end, Frame::with_length(0, 1518), &mut out);
        }
        out.extend(run(&mut network, LONG));
        assert!(out.len() >= topology.links.len(), "{}", preset.name);
        let nodes = network.report(LONG);
        for link in 0..topology.links.len() {
            let directions = network.link_report(&nodes, link).unwrap();
            assert!(
                directions
                    .iter()
                    .all(|direction| direction.counters.delivered.frames > 0)
            );
        }
    }
}

#[test]
fn rate_delay_and_loss_are_set_while_frames_flow() {
    let topology = preset("star");
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let rate = Setting::Rate(BitRate::from_bps(1_000_000));
    // In one direction the host's line is set, in the other the switch's.
    for end in 0..2 {
        assert_eq!(
            network.set(SimTime::START, LinkEnd::new(0, end), rate),
            Ok(true)
        );
    }
    let delay = Setting::Delay(Duration::from_millis(3));
    assert_eq!(
        network.set(SimTime::START, LinkEnd::new(1, 1), delay),
        Ok(true)
    );
    let mut out = Vec::new();
    network.offer(
        SimTime::START,
        LinkEnd::new(0, 0),
        Frame::with_length(1, 1518),
        &mut out,
    );
    out.extend(run(&mut network, LONG));
    let (first, second) = (1526 * 8_000, 1526 * 800);
    assert_eq!(out[0].at.as_ns(), first + second);
    assert_eq!(
        (out[1].end, out[1].at.as_ns()),
        (LinkEnd::new(1, 0), first + second + 3_000_000)
    );
    let half = pair("rate = \"10M\", duplex = \"half\"");
    let mut network = NetworkModel::build(&half, |_| true).unwrap();
    assert_eq!(
        network.set(SimTime::START, LinkEnd::new(0, 0), rate),
        Ok(false)
    );
}

#[test]
fn the_same_seed_loses_the_same_frames_whatever_other_links_do() {
    let lost = |seed: u64, more: &str| {
        let topology = topology(&format!(
            "seed = {seed}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}]\nrouter = [{{ name = \"r\" }}]\nlink = [{{ between = [\"a\", \"r\"], loss = 0.1 }}, {{ between = [\"b\", \"r\"] {more} }}, {{ between = [\"c\", \"r\"] }}]"
        ));
        let mut network = NetworkModel::build(&topology, |_| true).unwrap();
        let mut out = Vec::new();
        for id in 0..1000 {
            network.offer(
                SimTime::from_ns(id),
                LinkEnd::new(0, 0),
                Frame::with_length(id, 64),
                &mut out,
            );
            network.offer(
                SimTime::from_ns(id),
                LinkEnd::new(1, 0),
                Frame::with_length(id, 64),
                &mut Vec::new(),
            );
        }
        out.extend(run(&mut network, LONG));
        let passed = out
            .iter()
            .filter(|reached| reached.end == LinkEnd::new(0, 1));
        passed.map(|reached| reached.frame.id).collect::<Vec<_>>()
    };
    assert_eq!(lost(5, ""), lost(5, ", loss = 0.5"));
    assert_ne!(lost(5, ""), lost(6, ""));
    assert!((850..950).contains(&lost(5, "").len()));
}

#[test]
fn links_at_hubs_account_for_every_frame_whichever_end_the_hub_is_at() {
    // Hosts at first and second ends and a switch, with loss, duplication and queues that overflow.
    let topology = topology(
        "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\nhub = [{ name = \"x\" }]\nswitch = [{ name = \"s\" }]\nlink = [{ between = [\"a\", \"x\"], loss = 0.1, queue = { frames = 20 } }, { between = [\"x\", \"b\"], duplicate = 0.2, queue = { frames = 20 } }, { between = [\"c\", \"s\"], rate = \"10M\", loss = 0.1 }, { between = [\"x\", \"s\"] }]",
    );
    let mut network = NetworkModel::build(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    for id in 0..300 {
        for end in [LinkEnd::new(0, 0), LinkEnd::new(1, 1), LinkEnd::new(2, 0)] {
            let now = SimTime::from_ns(id * 2_000_000);
            network.offer(now, end, Frame::with_length(id, 1000), &mut out);
        }
    }
    // Once in the middle, with frames held, and once at the end.
    for until in [SimTime::from_ns(600_000_000), LONG] {
        out.extend(run(&mut network, until));
        let nodes = network.report(until);
        let mut dropped = 0;
        let reports: Vec<_> = (0..4)
            .map(|link| network.link_report(&nodes, link).unwrap())
            .collect();
        for (link, directions) in reports.iter().enumerate() {
            for direction in directions {
                let counters = &direction.counters;
                assert!(counters.offered.frames > 0, "{link}: {counters:?}");
                assert!(
                    counters.is_balanced(direction.held),
                    "{link}: {counters:?} {:?}",
                    direction.held
                );
                dropped += counters.dropped.total().frames;
            }
        }
        assert!(dropped > 0);
        // The frames that hub x repeats to b are those that reached it from a and from the switch.
        let into_x =
            [&reports[0][0], &reports[3][1]].map(|direction| direction.counters.delivered.frames);
        assert_eq!(
            reports[1][0].counters.offered.frames,
            into_x.iter().sum::<u64>()
        );
        assert!(reports[0][0].collisions.is_some() && reports[0][1].collisions.is_none());
        assert!(
            reports[1][1]
                .collisions
                .is_some_and(|collisions| collisions.all > 0)
        );
    }
}
