//! Topologies put together: what goes in at one host comes out at the other, when and in what order it should.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_link::assembly::{Assembly, Reached};
use caudal_link::cell::Setting;
use caudal_link::counters::DropReason;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::moment::Moment;
use caudal_topology::{Preset, Topology, TopologyFile};

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

fn run(assembly: &mut Assembly, until: Moment) -> Vec<Reached> {
    let mut out = Vec::new();
    assembly.advance(until, &mut out);
    out
}

const LONG: Moment = Moment::from_ns(1_000_000_000_000);

#[test]
fn a_frame_takes_its_serialisation_and_its_delay() {
    let topology = pair("rate = \"10M\", delay = \"5ms\"");
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    assembly.offer(Moment::START, (0, 0), Frame::of_length(7, 1518), &mut out);
    assembly.offer(Moment::START, (0, 1), Frame::of_length(8, 64), &mut out);
    out.extend(run(&mut assembly, LONG));
    let seen: Vec<_> = out
        .iter()
        .map(|reached| (reached.at.ns(), reached.end, reached.frame.id))
        .collect();
    assert_eq!(
        seen,
        [
            (72 * 800 + 5_000_000, (0, 0), 8),
            (1526 * 800 + 5_000_000, (0, 1), 7)
        ]
    );
}

#[test]
fn a_switch_learns_queues_and_counts_by_link() {
    let topology = preset("star");
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let station = MacAddress::station;
    let mut out = Vec::new();
    let frame = |id, from, to| Frame::of_length(id, 1518).between(station(from), station(to));
    // The switch floods what goes to somebody it has not heard, and sends the answer to one port.
    assembly.offer(Moment::START, (0, 0), frame(1, 0, 1), &mut out);
    out.extend(run(&mut assembly, Moment::from_ns(10_000_000)));
    let ends: Vec<_> = out.drain(..).map(|reached| reached.end).collect();
    assert_eq!(ends, [(1, 0), (2, 0)]);
    assembly.offer(
        Moment::from_ns(10_000_000),
        (1, 0),
        frame(2, 1, 0),
        &mut out,
    );
    out.extend(run(&mut assembly, LONG));
    let ends: Vec<_> = out.iter().map(|reached| reached.end).collect();
    assert_eq!(ends, [(0, 0)]);
    let nodes = assembly.report(LONG);
    let [up, down] = assembly.link_report(&nodes, 0).unwrap();
    assert_eq!(
        (up.counters.offered.frames, up.counters.delivered.frames),
        (1, 1)
    );
    assert_eq!(
        (down.counters.offered.frames, down.counters.delivered.frames),
        (1, 1)
    );
    assert!(up.queue.is_some() && down.queue.is_some());
    let [up, down] = assembly.link_report(&nodes, 2).unwrap();
    assert_eq!(
        (up.counters.offered.frames, down.counters.delivered.frames),
        (0, 1)
    );
}

#[test]
fn a_half_duplex_link_collides_and_says_so() {
    let topology = pair("rate = \"10M\", duplex = \"half\"");
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    for id in 0..100 {
        for end in 0..2 {
            assembly.offer(
                Moment::START,
                (0, end),
                Frame::of_length(id, 1518),
                &mut out,
            );
        }
    }
    out.extend(run(&mut assembly, LONG));
    let nodes = assembly.report(LONG);
    for course in assembly.link_report(&nodes, 0).unwrap() {
        assert_eq!(course.counters.offered.frames, 100);
        assert!(course.counters.balance(course.held), "{course:?}");
        assert!(course.collisions.unwrap().all > 0);
        assert!(course.counters.delivered.frames > 80);
    }
}

#[test]
fn a_hub_repeats_to_all_others() {
    let topology = topology(
        "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\nhub = [{ name = \"x\" }]\nlink = [{ between = [\"a\", \"x\"] }, { between = [\"x\", \"b\"] }, { between = [\"c\", \"x\"], loss = 1.0 }]",
    );
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    assembly.offer(Moment::START, (0, 0), Frame::of_length(1, 64), &mut out);
    out.extend(run(&mut assembly, LONG));
    let ends: Vec<_> = out.iter().map(|reached| reached.end).collect();
    assert_eq!(ends, [(1, 1)]);
    let nodes = assembly.report(LONG);
    let [from_c, to_c] = assembly.link_report(&nodes, 2).unwrap();
    assert_eq!(from_c.counters.offered.frames, 0);
    assert_eq!(to_c.counters.dropped.by(DropReason::Loss).frames, 1);
    let [to_a, _] = assembly.link_report(&nodes, 0).unwrap();
    assert_eq!(to_a.counters.offered.frames, 1);
}

#[test]
fn links_left_to_somebody_else_are_not_there() {
    let topology = preset("dumbbell");
    let assembly =
        Assembly::of(&topology, |link| topology.links[link].name == "bottleneck").unwrap();
    assert_eq!(assembly.ends().collect::<Vec<_>>(), [(0, 0), (0, 1)]);
}

#[test]
fn every_preset_carries_a_frame_over_each_link() {
    for preset in caudal_topology::PRESETS {
        let topology = Topology::resolve(&preset.file(None).unwrap()).unwrap();
        let mut assembly = Assembly::of(&topology, |_| true).unwrap();
        let mut out = Vec::new();
        for end in assembly.ends().collect::<Vec<_>>() {
            assembly.offer(Moment::START, end, Frame::of_length(0, 1518), &mut out);
        }
        out.extend(run(&mut assembly, LONG));
        assert!(out.len() >= topology.links.len(), "{}", preset.name);
        let nodes = assembly.report(LONG);
        for link in 0..topology.links.len() {
            let courses = assembly.link_report(&nodes, link).unwrap();
            assert!(
                courses
                    .iter()
                    .all(|course| course.counters.delivered.frames > 0)
            );
        }
    }
}

#[test]
fn rate_delay_and_loss_are_set_while_frames_flow() {
    let topology = preset("star");
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let rate = Setting::Rate(BitRate::from_bps(1_000_000));
    // From the host its own line is set, towards it the switch's.
    for end in 0..2 {
        assert_eq!(assembly.set(Moment::START, (0, end), rate), Ok(true));
    }
    let delay = Setting::Delay(Duration::from_millis(3));
    assert_eq!(assembly.set(Moment::START, (1, 1), delay), Ok(true));
    let mut out = Vec::new();
    assembly.offer(Moment::START, (0, 0), Frame::of_length(1, 1518), &mut out);
    out.extend(run(&mut assembly, LONG));
    let (first, second) = (1526 * 8_000, 1526 * 800);
    assert_eq!(out[0].at.ns(), first + second);
    assert_eq!(
        (out[1].end, out[1].at.ns()),
        ((1, 0), first + second + 3_000_000)
    );
    let half = pair("rate = \"10M\", duplex = \"half\"");
    let mut assembly = Assembly::of(&half, |_| true).unwrap();
    assert_eq!(assembly.set(Moment::START, (0, 0), rate), Ok(false));
}

#[test]
fn the_same_seed_loses_the_same_frames_whatever_other_links_do() {
    let lost = |seed: u64, more: &str| {
        let topology = topology(&format!(
            "seed = {seed}\nhost = [{{ name = \"a\" }}, {{ name = \"b\" }}, {{ name = \"c\" }}]\nrouter = [{{ name = \"r\" }}]\nlink = [{{ between = [\"a\", \"r\"], loss = 0.1 }}, {{ between = [\"b\", \"r\"] {more} }}, {{ between = [\"c\", \"r\"] }}]"
        ));
        let mut assembly = Assembly::of(&topology, |_| true).unwrap();
        let mut out = Vec::new();
        for id in 0..1000 {
            assembly.offer(
                Moment::from_ns(id),
                (0, 0),
                Frame::of_length(id, 64),
                &mut out,
            );
            assembly.offer(
                Moment::from_ns(id),
                (1, 0),
                Frame::of_length(id, 64),
                &mut Vec::new(),
            );
        }
        out.extend(run(&mut assembly, LONG));
        let passed = out.iter().filter(|reached| reached.end == (0, 1));
        passed.map(|reached| reached.frame.id).collect::<Vec<_>>()
    };
    assert_eq!(lost(5, ""), lost(5, ", loss = 0.5"));
    assert_ne!(lost(5, ""), lost(6, ""));
    assert!((850..950).contains(&lost(5, "").len()));
}

#[test]
fn links_at_hubs_account_for_every_frame_whichever_end_the_hub_is_at() {
    // Hosts at first and second ends and a switch, losses and copies on the way, and queues that overflow.
    let topology = topology(
        "host = [{ name = \"a\" }, { name = \"b\" }, { name = \"c\" }]\nhub = [{ name = \"x\" }]\nswitch = [{ name = \"s\" }]\nlink = [{ between = [\"a\", \"x\"], loss = 0.1, queue = { frames = 20 } }, { between = [\"x\", \"b\"], duplicate = 0.2, queue = { frames = 20 } }, { between = [\"c\", \"s\"], rate = \"10M\", loss = 0.1 }, { between = [\"x\", \"s\"] }]",
    );
    let mut assembly = Assembly::of(&topology, |_| true).unwrap();
    let mut out = Vec::new();
    for id in 0..300 {
        for end in [(0, 0), (1, 1), (2, 0)] {
            let now = Moment::from_ns(id * 2_000_000);
            assembly.offer(now, end, Frame::of_length(id, 1000), &mut out);
        }
    }
    // Once in the middle, with frames held, and once at the end.
    for until in [Moment::from_ns(600_000_000), LONG] {
        out.extend(run(&mut assembly, until));
        let nodes = assembly.report(until);
        let mut dropped = 0;
        let reports: Vec<_> = (0..4)
            .map(|link| assembly.link_report(&nodes, link).unwrap())
            .collect();
        for (link, courses) in reports.iter().enumerate() {
            for course in courses {
                let counters = &course.counters;
                assert!(counters.offered.frames > 0, "{link}: {counters:?}");
                assert!(
                    counters.balance(course.held),
                    "{link}: {counters:?} {:?}",
                    course.held
                );
                dropped += counters.dropped.total().frames;
            }
        }
        assert!(dropped > 0);
        // What the hub x repeats to b is what a and the switch got through it.
        let into_x =
            [&reports[0][0], &reports[3][1]].map(|course| course.counters.delivered.frames);
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
