//! How many frames a second cross a small network in virtual time.
//!
//! `cargo run --release -p caudal-link --example events_per_second`
#![allow(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on says where"
)]

use std::time::{Duration, Instant};

use caudal_core::units::BitRate;
use caudal_link::cell::Cell;
use caudal_link::chain::Chain;
use caudal_link::delay::Delay;
use caudal_link::dice::{Dice, Probability};
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::hub::hub;
use caudal_link::link::Link;
use caudal_link::loss::{Loss, LossModel};
use caudal_link::moment::Moment;
use caudal_link::network::{Network, Place};
use caudal_link::node::Node;
use caudal_link::queue::{Limit, Queue};
use caudal_link::rate::RateTrace;
use caudal_link::serialiser::Serialiser;
use caudal_link::switch::{Switch, SwitchBehaviour, SwitchPort};

const FRAMES: u64 = 2_000_000;
const GIGABIT: BitRate = BitRate::from_bps(1_000_000_000);
/// 1538 bytes at 1 Gbit/s.
const GAP_NS: u64 = 12_304;

fn wire() -> Serialiser {
    let queue = Queue::drop_tail(Limit::Bytes(1_000_000));
    Serialiser::new(RateTrace::constant(GIGABIT).unwrap(), queue)
}

fn direction(seed: u64) -> Chain {
    let loss = LossModel::Independent(Probability::new(0.001).unwrap());
    Chain::new()
        .then(Loss::new(loss, Dice::new(seed, 0)))
        .then(wire())
        .then(Delay::new(Duration::from_micros(100)))
}

fn frame(id: u64) -> Frame {
    let (source, destination) = (MacAddress::station(1), MacAddress::station(2));
    Frame::of_length(id, 1518).between(source, destination)
}

/// Runs `measured`, which gives the events it was: frames that entered or left a cell or node.
fn rate(name: &str, measured: impl FnOnce() -> u64) {
    let start = Instant::now();
    let events = measured();
    let seconds = start.elapsed().as_secs_f64();
    let millions = events as f64 / seconds / 1e6;
    let frames = FRAMES as f64 / seconds / 1e6;
    println!("{name:<44} {millions:6.2} million events/s, {frames:5.2} million frames/s");
}

fn chain() -> u64 {
    let mut chain = direction(1);
    let mut out = Vec::new();
    let mut delivered = 0;
    for id in 0..FRAMES {
        chain.offer(Moment::from_ns(id * GAP_NS), frame(id), &mut out);
        delivered += out.drain(..).count() as u64;
    }
    chain.advance(Moment::from_ns(u64::MAX), &mut out);
    delivered += out.len() as u64;
    FRAMES + 5 * delivered
}

/// Host, link, switch, link, host.
fn switched() -> u64 {
    let mut network = Network::new();
    let line = || SwitchPort::Line(Box::new(wire()));
    let ports = vec![line(), line(), line()];
    let switch = network.add(Switch::new(SwitchBehaviour::default(), ports).unwrap());
    let cable = || Delay::new(Duration::from_nanos(500));
    let hosts = [0, 1].map(|port| {
        let node = network.add(Link::new(direction(port as u64), cable()));
        let place = Place { node, port: 1 };
        network.join(place, Place { node: switch, port }).unwrap();
        Place { node, port: 0 }
    });
    let mut out = Vec::new();
    let answer = frame(0).between(MacAddress::station(2), MacAddress::station(1));
    network
        .offer(Moment::START, hosts[1], answer, &mut out)
        .unwrap();
    let mut delivered = 0;
    for id in 0..FRAMES {
        let at = Moment::from_ns(1_000_000 + id * GAP_NS);
        network.offer(at, hosts[0], frame(id), &mut out).unwrap();
        delivered += out.drain(..).count() as u64;
    }
    network.advance(Moment::from_ns(1 << 60), &mut out);
    delivered += out.len() as u64;
    // In and out of loss, wire, delay, switch, its line, and the cable.
    FRAMES + 11 * delivered
}

/// Five stations at a hub with more to send than there is room for.
fn contended() -> u64 {
    let cables = [Duration::from_nanos(100); 5];
    let queue = Queue::drop_tail(Limit::Frames(50));
    let rate = BitRate::from_bps(100_000_000);
    let mut hub = hub(rate, &cables, &queue, Dice::new(1, 0)).unwrap();
    let mut out = Vec::new();
    let mut delivered = 0;
    for id in 0..FRAMES {
        let at = Moment::from_ns(id * 60_000);
        hub.offer(at, (id % 5) as usize, Frame::of_length(id, 1518), &mut out);
        delivered += out.drain(..).count() as u64;
    }
    FRAMES + delivered
}

fn main() {
    rate("loss, gigabit wire, delay", chain);
    rate("host, link, switch, link, host", switched);
    rate("hub of five, overloaded", contended);
}
