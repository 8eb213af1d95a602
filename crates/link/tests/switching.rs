//! Switches: flooding, learning, ageing, PAUSE.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};
use caudal_link::counters::DropReason;
use caudal_link::delay::Delay;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::full_duplex_link::FullDuplexLink;
use caudal_link::graph::{GraphEgress, NodeGraph, PortId};
use caudal_link::node::NetworkNode;
use caudal_link::pipeline::Pipeline;
use caudal_link::queue::Queue;
use caudal_link::rate::RateTrace;
use caudal_link::serialiser::Serialiser;
use caudal_link::switch::{Switch, SwitchPort};
use caudal_link::time::SimTime;
use caudal_topology::{PauseThresholds, QueueLimit, SwitchSetup};

const END: SimTime = SimTime::from_ns(1 << 60);

fn line(megabits: u64, limit: QueueLimit) -> Serialiser {
    let rate = RateTrace::constant(BitRate::from_bps(megabits * 1_000_000)).unwrap();
    Serialiser::new(rate, Queue::drop_tail(limit))
}

/// A switch with 100 Mbit/s lines that hold `limit`.
fn switch(ports: usize, limit: QueueLimit, setup: SwitchSetup) -> Switch {
    let port = |_| SwitchPort::Line(Box::new(line(100, limit)));
    Switch::new(setup, (0..ports).map(port).collect()).unwrap()
}

fn between(id: u64, source: u32, destination: u32) -> Frame {
    Frame::with_length(id, 1518).with_addresses(
        MacAddress::station(source),
        MacAddress::station(destination),
    )
}

#[test]
fn frames_to_unknown_stations_are_flooded_and_to_learned_ones_forwarded() {
    let mut switch = switch(4, QueueLimit::None, SwitchSetup::default());
    let mut receivers = |at_ms: u64, port, frame| {
        let mut out = Vec::new();
        switch.offer(SimTime::from_ns(at_ms * 1_000_000), port, frame, &mut out);
        switch.advance(SimTime::from_ns((at_ms + 1) * 1_000_000), &mut out);
        out.iter().map(|exit| exit.port).collect::<Vec<_>>()
    };
    assert_eq!(receivers(0, 0, between(0, 10, 11)), [1, 2, 3]);
    assert_eq!(receivers(1, 1, between(1, 11, 10)), [0]);
    assert_eq!(receivers(2, 0, between(2, 10, 11)), [1]);
    // A frame to a station behind the same port is not forwarded.
    assert_eq!(receivers(3, 0, between(3, 12, 10)), [0_usize; 0]);
    // The station moves, and its address is learned anew.
    assert_eq!(receivers(4, 3, between(4, 11, 10)), [0]);
    assert_eq!(receivers(5, 0, between(5, 10, 11)), [3]);
    // After five minutes it is forgotten.
    assert_eq!(receivers(301_000, 0, between(6, 10, 11)), [1, 2, 3]);
    assert_eq!(switch.counters().dropped.by(DropReason::NoPort).frames, 1);
}

#[test]
fn a_store_and_forward_switch_delays_by_its_latency_and_a_second_serialisation() {
    let setup = SwitchSetup {
        latency: Duration::from_micros(5),
        ..SwitchSetup::default()
    };
    let mut network = NodeGraph::new();
    let node = network.add(switch(2, QueueLimit::None, setup));
    let cable = || Delay::new(Duration::from_micros(1));
    let host = network.add(FullDuplexLink::new(
        Pipeline::new()
            .then(line(10, QueueLimit::None))
            .then(cable()),
        cable(),
    ));
    network
        .connect(
            PortId {
                node: host,
                port: 1,
            },
            PortId { node, port: 0 },
        )
        .unwrap();
    let mut out = Vec::new();
    let from = PortId {
        node: host,
        port: 0,
    };
    network
        .offer(SimTime::START, from, between(0, 1, 2), &mut out)
        .unwrap();
    network.advance(END, &mut out);
    // 1526 bytes at 10 and at 100 Mbit/s, cable and latency.
    let [GraphEgress { at, port, .. }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!(at.as_ns(), 1_220_800 + 1_000 + 5_000 + 122_080);
    assert_eq!(*port, PortId { node, port: 1 });
}

/// The frames that the switch drops and those that arrive when two hosts at 100 Mbit/s send to a third.
fn two_into_one(pause: Option<PauseThresholds>) -> (u64, u64) {
    let setup = SwitchSetup {
        pause,
        ..SwitchSetup::default()
    };
    let mut network = NodeGraph::new();
    let node = network.add(switch(3, QueueLimit::Bytes(ByteCount::new(60_000)), setup));
    let cable = || Delay::new(Duration::from_nanos(500));
    let hosts = [0, 1].map(|port| {
        let sending = Pipeline::new()
            .then(line(100, QueueLimit::None))
            .then(cable());
        let host = network.add(FullDuplexLink::new(sending, cable()));
        network
            .connect(
                PortId {
                    node: host,
                    port: 1,
                },
                PortId { node, port },
            )
            .unwrap();
        PortId {
            node: host,
            port: 0,
        }
    });
    let mut out = Vec::new();
    let receiver = PortId { node, port: 2 };
    network
        .offer(SimTime::START, receiver, between(0, 3, 9), &mut out)
        .unwrap();
    for id in 1..=1000 {
        for (number, host) in hosts.iter().enumerate() {
            let frame = between(id, number as u32, 3);
            network
                .offer(SimTime::from_ns(1_000_000), *host, frame, &mut out)
                .unwrap();
        }
    }
    network.advance(END, &mut out);
    let arrived = out
        .iter()
        .filter(|arrival| arrival.port == receiver)
        .count();
    let report = &network.report(END)[node];
    (
        report.counters.dropped.by(DropReason::QueueFull).frames,
        arrived as u64,
    )
}

#[test]
fn pause_frames_keep_a_switch_from_dropping() {
    let (dropped, arrived) = two_into_one(None);
    assert_eq!(dropped + arrived, 2000);
    assert!(dropped > 900, "{dropped}");
    let thresholds = PauseThresholds {
        high: 30_000,
        low: 15_000,
    };
    assert_eq!(two_into_one(Some(thresholds)), (0, 2000));
}
