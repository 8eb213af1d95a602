//! Measures how many frames per second cross small networks in virtual time.
//!
//! `cargo run --release -p caudal-link --example events_per_second`
#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on says where"
)]

use std::time::{Duration, Instant};

use caudal_core::units::{BitRate, ByteCount};
use caudal_link::delay::Delay;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::full_duplex_link::FullDuplexLink;
use caudal_link::graph::{NodeGraph, PortId};
use caudal_link::hub::hub;
use caudal_link::loss::{FrameLoss, LossModel};
use caudal_link::node::NetworkNode;
use caudal_link::pipeline::Pipeline;
use caudal_link::probability::Probability;
use caudal_link::queue::Queue;
use caudal_link::random::Rng;
use caudal_link::rate::RateTrace;
use caudal_link::serialiser::Serialiser;
use caudal_link::stage::Stage;
use caudal_link::switch::{Switch, SwitchPort};
use caudal_link::time::SimTime;
use caudal_topology::{QueueLimit, SwitchSetup};

const FRAMES: u64 = 2_000_000;
const GIGABIT: BitRate = BitRate::from_bps(1_000_000_000);
/// 1538 bytes at 1 Gbit/s.
const GAP_NS: u64 = 12_304;

fn line() -> Serialiser {
    let queue = Queue::drop_tail(QueueLimit::Bytes(ByteCount::new(1_000_000)));
    Serialiser::new(RateTrace::constant(GIGABIT).unwrap(), queue)
}

fn direction(seed: u64) -> Pipeline {
    let loss = LossModel::Independent(Probability::new(0.001).unwrap());
    Pipeline::new()
        .then(FrameLoss::new(loss, Rng::new(seed, 0)))
        .then(line())
        .then(Delay::new(Duration::from_micros(100)))
}

fn frame(id: u64) -> Frame {
    let (source, destination) = (MacAddress::station(1), MacAddress::station(2));
    Frame::with_length(id, 1518).with_addresses(source, destination)
}

/// Runs `measured` and prints the rate of events, which it returns: frames that entered or left a stage or node.
fn print_rate(name: &str, measured: impl FnOnce() -> u64) {
    let start = Instant::now();
    let events = measured();
    let seconds = start.elapsed().as_secs_f64();
    let millions = events as f64 / seconds / 1e6;
    let frames = FRAMES as f64 / seconds / 1e6;
    println!("{name:<44} {millions:6.2} million events/s, {frames:5.2} million frames/s");
}

fn pipeline() -> u64 {
    let mut pipeline = direction(1);
    let mut out = Vec::new();
    let mut delivered = 0;
    for id in 0..FRAMES {
        pipeline.offer(SimTime::from_ns(id * GAP_NS), frame(id), &mut out);
        delivered += out.drain(..).count() as u64;
    }
    pipeline.advance(SimTime::MAX, &mut out);
    delivered += out.len() as u64;
    FRAMES + 5 * delivered
}

/// Frames from a host over a link, a switch and a link to another host.
fn switched() -> u64 {
    let mut graph = NodeGraph::new();
    let port = || SwitchPort::Line(Box::new(line()));
    let ports = vec![port(), port(), port()];
    let switch = graph.add(Switch::new(SwitchSetup::default(), ports).unwrap());
    let cable = || Delay::new(Duration::from_nanos(500));
    let hosts = [0, 1].map(|port| {
        let node = graph.add(FullDuplexLink::new(direction(port as u64), cable()));
        let at = PortId { node, port: 1 };
        graph.connect(at, PortId { node: switch, port }).unwrap();
        PortId { node, port: 0 }
    });
    let mut out = Vec::new();
    let answer = frame(0).with_addresses(MacAddress::station(2), MacAddress::station(1));
    graph
        .offer(SimTime::START, hosts[1], answer, &mut out)
        .unwrap();
    let mut delivered = 0;
    for id in 0..FRAMES {
        let at = SimTime::from_ns(1_000_000 + id * GAP_NS);
        graph.offer(at, hosts[0], frame(id), &mut out).unwrap();
        delivered += out.drain(..).count() as u64;
    }
    graph.advance(SimTime::from_ns(1 << 60), &mut out);
    delivered += out.len() as u64;
    // In and out of loss, line, delay, switch, its line, and the cable.
    FRAMES + 11 * delivered
}

/// Five stations at an overloaded hub.
fn contended() -> u64 {
    let cables = [Duration::from_nanos(100); 5];
    let queue = Queue::drop_tail(QueueLimit::Frames(50));
    let rate = BitRate::from_bps(100_000_000);
    let mut hub = hub(rate, &cables, &queue, Rng::new(1, 0)).unwrap();
    let mut out = Vec::new();
    let mut delivered = 0;
    for id in 0..FRAMES {
        let at = SimTime::from_ns(id * 60_000);
        hub.offer(
            at,
            (id % 5) as usize,
            Frame::with_length(id, 1518),
            &mut out,
        );
        delivered += out.drain(..).count() as u64;
    }
    FRAMES + delivered
}

fn main() {
    print_rate("loss, gigabit line, delay", pipeline);
    print_rate("host, link, switch, link, host", switched);
    print_rate("hub of five, overloaded", contended);
}
