//! Switches: who hears what, and who holds back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_link::chain::Chain;
use caudal_link::counters::DropReason;
use caudal_link::delay::Delay;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::link::Link;
use caudal_link::moment::Moment;
use caudal_link::network::{Arrival, Network, Place};
use caudal_link::node::Node;
use caudal_link::queue::{Limit, Queue};
use caudal_link::rate::RateTrace;
use caudal_link::serialiser::Serialiser;
use caudal_link::switch::{PauseMarks, Switch, SwitchBehaviour, SwitchPort};

const END: Moment = Moment::from_ns(1 << 60);

fn wire(megabits: u64, limit: Limit) -> Serialiser {
    let rate = RateTrace::constant(BitRate::from_bps(megabits * 1_000_000)).unwrap();
    Serialiser::new(rate, Queue::drop_tail(limit))
}

/// A switch with 100 Mbit/s lines that hold `limit`.
fn switch(ports: usize, limit: Limit, behaviour: SwitchBehaviour) -> Switch {
    let line = |_| SwitchPort::Line(Box::new(wire(100, limit)));
    Switch::new(behaviour, (0..ports).map(line).collect()).unwrap()
}

fn between(id: u64, source: u32, destination: u32) -> Frame {
    Frame::of_length(id, 1518).between(
        MacAddress::station(source),
        MacAddress::station(destination),
    )
}

#[test]
fn a_frame_for_a_stranger_goes_everywhere_and_one_for_a_known_station_to_it() {
    let mut switch = switch(4, Limit::None, SwitchBehaviour::default());
    let mut heard = |at_ms: u64, port, frame| {
        let mut out = Vec::new();
        switch.offer(Moment::from_ns(at_ms * 1_000_000), port, frame, &mut out);
        switch.advance(Moment::from_ns((at_ms + 1) * 1_000_000), &mut out);
        out.iter().map(|exit| exit.port).collect::<Vec<_>>()
    };
    assert_eq!(heard(0, 0, between(0, 10, 11)), [1, 2, 3]);
    assert_eq!(heard(1, 1, between(1, 11, 10)), [0]);
    assert_eq!(heard(2, 0, between(2, 10, 11)), [1]);
    // A station behind the same port needs no switch.
    assert_eq!(heard(3, 0, between(3, 12, 10)), [0_usize; 0]);
    // The station moves, and is followed.
    assert_eq!(heard(4, 3, between(4, 11, 10)), [0]);
    assert_eq!(heard(5, 0, between(5, 10, 11)), [3]);
    // After five minutes it is forgotten.
    assert_eq!(heard(301_000, 0, between(6, 10, 11)), [1, 2, 3]);
    assert_eq!(switch.counters().dropped.by(DropReason::NoPort).frames, 1);
}

#[test]
fn a_store_and_forward_switch_delays_by_its_latency_and_a_second_serialisation() {
    let behaviour = SwitchBehaviour {
        latency: Duration::from_micros(5),
        ..SwitchBehaviour::default()
    };
    let mut network = Network::new();
    let node = network.add(switch(2, Limit::None, behaviour));
    let cable = || Delay::new(Duration::from_micros(1));
    let host = network.add(Link::new(
        Chain::new().then(wire(10, Limit::None)).then(cable()),
        cable(),
    ));
    network
        .join(
            Place {
                node: host,
                port: 1,
            },
            Place { node, port: 0 },
        )
        .unwrap();
    let mut out = Vec::new();
    let from = Place {
        node: host,
        port: 0,
    };
    network
        .offer(Moment::START, from, between(0, 1, 2), &mut out)
        .unwrap();
    network.advance(END, &mut out);
    // 1526 bytes at 10 and at 100 Mbit/s, cable and latency.
    let [Arrival { at, place, .. }] = &out[..] else {
        panic!("{out:?}")
    };
    assert_eq!(at.ns(), 1_220_800 + 1_000 + 5_000 + 122_080);
    assert_eq!(*place, Place { node, port: 1 });
}

/// Two hosts at 100 Mbit/s send to a third; gives the frames the switch dropped and those that arrived.
fn two_into_one(pause: Option<PauseMarks>) -> (u64, u64) {
    let behaviour = SwitchBehaviour {
        pause,
        ..SwitchBehaviour::default()
    };
    let mut network = Network::new();
    let node = network.add(switch(3, Limit::Bytes(60_000), behaviour));
    let cable = || Delay::new(Duration::from_nanos(500));
    let hosts = [0, 1].map(|port| {
        let sending = Chain::new().then(wire(100, Limit::None)).then(cable());
        let host = network.add(Link::new(sending, cable()));
        network
            .join(
                Place {
                    node: host,
                    port: 1,
                },
                Place { node, port },
            )
            .unwrap();
        Place {
            node: host,
            port: 0,
        }
    });
    let mut out = Vec::new();
    let receiver = Place { node, port: 2 };
    network
        .offer(Moment::START, receiver, between(0, 3, 9), &mut out)
        .unwrap();
    for id in 1..=1000 {
        for (number, host) in hosts.iter().enumerate() {
            let frame = between(id, number as u32, 3);
            network
                .offer(Moment::from_ns(1_000_000), *host, frame, &mut out)
                .unwrap();
        }
    }
    network.advance(END, &mut out);
    let arrived = out
        .iter()
        .filter(|arrival| arrival.place == receiver)
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
    let marks = PauseMarks {
        high: 30_000,
        low: 15_000,
    };
    assert_eq!(two_into_one(Some(marks)), (0, 2000));
}
