//! Random stages, nodes and graphs of all kinds.

use std::time::Duration;

use caudal_core::marks::Ecn;
use caudal_core::units::{BitRate, ByteCount};
use caudal_link::balancer::{Balancer, BranchSelection};
use caudal_link::bucket::TokenBucket;
use caudal_link::codel::Codel;
use caudal_link::corruption::{Corruption, Damage, ErrorRate};
use caudal_link::delay::Delay;
use caudal_link::dual_queue::DualQueue;
use caudal_link::duplication::Duplication;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::full_duplex_link::FullDuplexLink;
use caudal_link::graph::{NodeGraph, PortId};
use caudal_link::jitter::{DelaySampler, Jitter};
use caudal_link::loss::{FrameLoss, GilbertElliott, LossModel};
use caudal_link::medium::{Medium, MediumSetup, StationSetup};
use caudal_link::pipeline::Pipeline;
use caudal_link::policer::Policer;
use caudal_link::probability::Probability;
use caudal_link::queue::{Queue, QueueDiscipline};
use caudal_link::random::Rng;
use caudal_link::rate::{RateTrace, TraceEnd};
use caudal_link::red::{Red, RedParameters};
use caudal_link::reordering::Reordering;
use caudal_link::serialiser::Serialiser;
use caudal_link::shaper::Shaper;
use caudal_link::stage::Stage;
use caudal_link::switch::{Switch, SwitchPort};
use caudal_topology::{
    FrameOrder, LateCollision, Measure, PauseThresholds, QueueLimit, Readiness, StationDuplex,
    SwitchSetup,
};

/// The number of kinds of stages that [`stage`] makes.
pub const KINDS: u64 = 14;

fn time(rng: &mut Rng, max_us: u64) -> Duration {
    Duration::from_micros(rng.below(max_us + 1))
}

fn probability(rng: &mut Rng) -> Probability {
    Probability::new(rng.uniform() * [0.0, 0.01, 0.3, 1.0][rng.below(4) as usize]).unwrap()
}

fn rate(rng: &mut Rng) -> BitRate {
    BitRate::from_bps([1, 10, 100, 777, 10_000][rng.below(5) as usize] * 1_000_003)
}

fn fork(rng: &mut Rng) -> Rng {
    Rng::new(rng.next_u64(), rng.next_u64())
}

fn queue(rng: &mut Rng) -> Queue {
    let limit = match rng.below(4) {
        0 => QueueLimit::None,
        1 => QueueLimit::Bytes(ByteCount::new(rng.below(40_000))),
        _ => QueueLimit::Frames(rng.below(40)),
    };
    let discipline = match rng.below(5) {
        0 => QueueDiscipline::Codel(Codel::new(time(rng, 2000), time(rng, 5000))),
        1 => {
            let low = rng.below(10_000);
            let parameters = RedParameters {
                min_threshold: low,
                max_threshold: low + 1 + rng.below(30_000),
                max_probability: probability(rng),
                weight: rng.below(12) as u32,
                frame_time: time(rng, 1000),
            };
            QueueDiscipline::Red(Red::new(parameters, fork(rng)).unwrap())
        }
        2 => QueueDiscipline::Dual(DualQueue::new(time(rng, 20_000), fork(rng))),
        _ => QueueDiscipline::DropTail,
    };
    Queue::new(limit, discipline).with_marks(rng.below(2) == 0)
}

pub fn serialiser(rng: &mut Rng) -> Serialiser {
    let trace = if rng.below(3) == 0 {
        let steps = [
            (Duration::ZERO, rate(rng)),
            (Duration::from_micros(500), BitRate::ZERO),
            (Duration::from_micros(900), rate(rng)),
        ];
        let after = match rng.below(2) {
            0 => TraceEnd::Hold,
            _ => TraceEnd::Repeat(Duration::from_millis(1)),
        };
        RateTrace::steps(&steps, after).unwrap()
    } else {
        RateTrace::constant(rate(rng)).unwrap()
    };
    Serialiser::new(trace, queue(rng))
}

fn bucket(rng: &mut Rng) -> TokenBucket {
    let measure = [Measure::Wire, Measure::Frame, Measure::Packet][rng.below(3) as usize];
    TokenBucket::new(rate(rng), ByteCount::new(rng.below(20_000)), measure).unwrap()
}

/// A stage of kind `kind`, below [`KINDS`], made of up to `depth` layers of others.
pub fn stage(kind: u64, depth: u32, rng: &mut Rng) -> Box<dyn Stage> {
    let own = fork(rng);
    let order = [FrameOrder::Preserved, FrameOrder::Free][rng.below(2) as usize];
    match kind {
        0 => Box::new(serialiser(rng)),
        1 => Box::new(Delay::new(time(rng, 3000))),
        2 => {
            let spread = DelaySampler::uniform(time(rng, 1000), time(rng, 1000));
            Box::new(Jitter::new(spread, order, own))
        }
        3 => {
            let spread = DelaySampler::normal(time(rng, 1000), time(rng, 1000));
            Box::new(Jitter::new(spread, order, own))
        }
        4 => {
            let spread = DelaySampler::pareto(time(rng, 1000), 0.1 + 3.0 * rng.uniform());
            Box::new(Jitter::new(spread.unwrap(), order, own))
        }
        5 => Box::new(FrameLoss::new(
            LossModel::Independent(probability(rng)),
            own,
        )),
        6 => {
            let channel = GilbertElliott {
                good_to_bad: probability(rng),
                bad_to_good: probability(rng),
                loss_in_good: probability(rng),
                loss_in_bad: probability(rng),
            };
            Box::new(FrameLoss::new(LossModel::Bursts(channel), own))
        }
        7 => Box::new(Duplication::new(probability(rng), own)),
        8 => {
            let extent = rng.below(5);
            Box::new(Reordering::new(
                probability(rng),
                extent,
                time(rng, 5000),
                own,
            ))
        }
        9 => {
            let errors = match rng.below(2) {
                0 => ErrorRate::PerFrame(probability(rng)),
                _ => ErrorRate::PerBit(probability(rng)),
            };
            let damage = [Damage::Detected, Damage::Silent][rng.below(2) as usize];
            Box::new(Corruption::new(errors, damage, own))
        }
        10 => Box::new(Policer::new(bucket(rng))),
        11 => Box::new(Shaper::new(bucket(rng), queue(rng))),
        12 if depth > 0 => {
            let branches = (0..=rng.below(3)).map(|_| any_stage(depth - 1, rng));
            let branches = branches.collect();
            let selection = match rng.below(2) {
                0 => BranchSelection::FlowHash {
                    salt: rng.next_u64(),
                },
                _ => BranchSelection::RoundRobin,
            };
            Box::new(Balancer::new(selection, branches).unwrap())
        }
        _ if depth > 0 => Box::new(pipeline(depth - 1, rng)),
        _ => Box::new(Pipeline::new()),
    }
}

fn any_stage(depth: u32, rng: &mut Rng) -> Box<dyn Stage> {
    stage(rng.below(KINDS), depth, rng)
}

pub fn pipeline(depth: u32, rng: &mut Rng) -> Pipeline {
    let mut pipeline = Pipeline::new();
    for _ in 0..rng.below(5) {
        pipeline.push(any_stage(depth, rng));
    }
    pipeline
}

pub fn medium(stations: u64, rng: &mut Rng) -> Medium {
    let setup = MediumSetup {
        rate: BitRate::from_bps([10_000_000, 100_000_000][rng.below(2) as usize]),
        repeater_delay: Duration::from_nanos(rng.below(2000)),
        late_collision: [LateCollision::Drop, LateCollision::Retry][rng.below(2) as usize],
    };
    let stations = (0..stations).map(|_| StationSetup {
        duplex: match rng.below(3) {
            0 if stations == 2 => StationDuplex::Full,
            _ => StationDuplex::Half,
        },
        delay: Duration::from_nanos(rng.below(30_000)),
        readiness: Readiness {
            constant_bits: rng.below(2000) as u32,
            random_bits: rng.below(2000) as u32,
        },
        queue: queue(rng),
    });
    let stations = stations.collect();
    Medium::new(setup, stations, fork(rng)).unwrap()
}

pub fn switch(ports: u64, rng: &mut Rng) -> Switch {
    let setup = SwitchSetup {
        latency: time(rng, 20),
        ageing_time: [
            None,
            Some(Duration::from_micros(100)),
            Some(Duration::from_secs(300)),
        ][rng.below(3) as usize],
        pause: (rng.below(2) == 0).then(|| PauseThresholds {
            high: rng.below(20_000),
            low: rng.below(10_000),
        }),
    };
    let ports = (0..ports).map(|_| match rng.below(4) {
        0 => SwitchPort::Through,
        _ => SwitchPort::Line(Box::new(serialiser(rng))),
    });
    let ports = ports.collect();
    Switch::new(setup, ports).unwrap()
}

/// A tree of links, switches and media, and its unconnected ports, where hosts are.
pub fn graph(rng: &mut Rng) -> (NodeGraph, Vec<PortId>) {
    let mut graph = NodeGraph::new();
    let mut open: Vec<PortId> = Vec::new();
    for _ in 0..=rng.below(7) {
        let ports = 2 + rng.below(3);
        let (node, ports) = match rng.below(4) {
            0 => (graph.add(switch(ports, rng)), ports),
            1 => (graph.add(medium(ports, rng)), ports),
            _ => (
                graph.add(FullDuplexLink::new(pipeline(1, rng), pipeline(1, rng))),
                2,
            ),
        };
        let port_id = |port: u64| PortId {
            node,
            port: port as usize,
        };
        let mut free: Vec<PortId> = (0..ports).map(port_id).collect();
        if !open.is_empty() {
            let peer = open.swap_remove(rng.below(open.len() as u64) as usize);
            graph.connect(free.remove(0), peer).unwrap();
        }
        open.append(&mut free);
    }
    (graph, open)
}

#[allow(dead_code, reason = "not every test sends frames without content")]
/// A frame between two of `hosts` stations, sometimes a broadcast or a PAUSE frame.
pub fn frame(id: u64, hosts: u64, rng: &mut Rng) -> Frame {
    if rng.below(50) == 0 {
        return Frame::new_pause(rng.below(100) as u16);
    }
    let station = |number: u64| MacAddress::station(number as u32);
    let destination = match rng.below(10) {
        0 => MacAddress::BROADCAST,
        _ => station(rng.below(hosts)),
    };
    let length = [64, 65, 590, 1518, 9018][rng.below(5) as usize];
    Frame::with_length(id, length)
        .with_ecn(Ecn::ALL[rng.below(4) as usize])
        .with_addresses(station(rng.below(hosts)), destination)
        .with_flow(rng.below(8))
}
