//! Cells, nodes and networks of all kinds, at random.

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};
use caudal_link::balancer::{Balancer, Balancing};
use caudal_link::bucket::{Measure, TokenBucket};
use caudal_link::cell::Cell;
use caudal_link::chain::Chain;
use caudal_link::codel::Codel;
use caudal_link::corruption::{Corruption, Damage, Errors};
use caudal_link::delay::Delay;
use caudal_link::dice::{Dice, Probability};
use caudal_link::duplication::Duplication;
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::jitter::{Distribution, Jitter, Order};
use caudal_link::link::Link;
use caudal_link::loss::{GilbertElliott, Loss, LossModel};
use caudal_link::medium::{Duplex, LateCollision, Medium, MediumSetup, StationSetup};
use caudal_link::network::{Network, Place};
use caudal_link::policer::Policer;
use caudal_link::queue::{Discipline, Limit, Queue};
use caudal_link::rate::{After, RateTrace};
use caudal_link::red::{Red, RedParameters};
use caudal_link::reordering::Reordering;
use caudal_link::serialiser::Serialiser;
use caudal_link::shaper::Shaper;
use caudal_link::switch::{PauseMarks, Switch, SwitchBehaviour, SwitchPort};

/// The kinds of cells [`cell`] makes.
pub const KINDS: u64 = 14;

fn time(dice: &mut Dice, most_us: u64) -> Duration {
    Duration::from_micros(dice.below(most_us + 1))
}

fn probability(dice: &mut Dice) -> Probability {
    Probability::new(dice.fraction() * [0.0, 0.01, 0.3, 1.0][dice.below(4) as usize]).unwrap()
}

fn rate(dice: &mut Dice) -> BitRate {
    BitRate::from_bps([1, 10, 100, 777, 10_000][dice.below(5) as usize] * 1_000_003)
}

fn own_dice(dice: &mut Dice) -> Dice {
    Dice::new(dice.bits(), dice.bits())
}

fn queue(dice: &mut Dice) -> Queue {
    let limit = match dice.below(4) {
        0 => Limit::None,
        1 => Limit::Bytes(dice.below(40_000)),
        _ => Limit::Frames(dice.below(40)),
    };
    let discipline = match dice.below(4) {
        0 => Discipline::Codel(Codel::new(time(dice, 2000), time(dice, 5000))),
        1 => {
            let low = dice.below(10_000);
            let parameters = RedParameters {
                low,
                high: low + 1 + dice.below(30_000),
                most: probability(dice),
                weight: dice.below(12) as u32,
                frame_time: time(dice, 1000),
            };
            Discipline::Red(Red::new(parameters, own_dice(dice)).unwrap())
        }
        _ => Discipline::DropTail,
    };
    Queue::new(limit, discipline)
}

pub fn serialiser(dice: &mut Dice) -> Serialiser {
    let trace = if dice.below(3) == 0 {
        let steps = [
            (Duration::ZERO, rate(dice)),
            (Duration::from_micros(500), BitRate::ZERO),
            (Duration::from_micros(900), rate(dice)),
        ];
        let after = match dice.below(2) {
            0 => After::Hold,
            _ => After::Repeat(Duration::from_millis(1)),
        };
        RateTrace::steps(&steps, after).unwrap()
    } else {
        RateTrace::constant(rate(dice)).unwrap()
    };
    Serialiser::new(trace, queue(dice))
}

fn bucket(dice: &mut Dice) -> TokenBucket {
    let measure = [Measure::Wire, Measure::Frame, Measure::Packet][dice.below(3) as usize];
    TokenBucket::new(rate(dice), ByteCount::new(dice.below(20_000)), measure).unwrap()
}

/// A cell of kind `kind`, below [`KINDS`], made from up to `depth` layers of others.
pub fn cell(kind: u64, depth: u32, dice: &mut Dice) -> Box<dyn Cell> {
    let own = own_dice(dice);
    let order = [Order::Kept, Order::Free][dice.below(2) as usize];
    match kind {
        0 => Box::new(serialiser(dice)),
        1 => Box::new(Delay::new(time(dice, 3000))),
        2 => {
            let spread = Distribution::uniform(time(dice, 1000), time(dice, 1000));
            Box::new(Jitter::new(spread, order, own))
        }
        3 => {
            let spread = Distribution::normal(time(dice, 1000), time(dice, 1000));
            Box::new(Jitter::new(spread, order, own))
        }
        4 => {
            let spread = Distribution::pareto(time(dice, 1000), 0.1 + 3.0 * dice.fraction());
            Box::new(Jitter::new(spread.unwrap(), order, own))
        }
        5 => Box::new(Loss::new(LossModel::Independent(probability(dice)), own)),
        6 => {
            let channel = GilbertElliott {
                worsens: probability(dice),
                recovers: probability(dice),
                loss_in_good: probability(dice),
                loss_in_bad: probability(dice),
            };
            Box::new(Loss::new(LossModel::Bursts(channel), own))
        }
        7 => Box::new(Duplication::new(probability(dice), own)),
        8 => {
            let places = dice.below(5);
            Box::new(Reordering::new(
                probability(dice),
                places,
                time(dice, 5000),
                own,
            ))
        }
        9 => {
            let errors = match dice.below(2) {
                0 => Errors::PerFrame(probability(dice)),
                _ => Errors::PerBit(probability(dice)),
            };
            let damage = [Damage::Detected, Damage::Silent][dice.below(2) as usize];
            Box::new(Corruption::new(errors, damage, own))
        }
        10 => Box::new(Policer::new(bucket(dice))),
        11 => Box::new(Shaper::new(bucket(dice), queue(dice))),
        12 if depth > 0 => {
            let branches = (0..=dice.below(3)).map(|_| any_cell(depth - 1, dice));
            let branches = branches.collect();
            let balancing = match dice.below(2) {
                0 => Balancing::PerFlow { salt: dice.bits() },
                _ => Balancing::PerFrame,
            };
            Box::new(Balancer::new(balancing, branches).unwrap())
        }
        _ if depth > 0 => Box::new(chain(depth - 1, dice)),
        _ => Box::new(Chain::new()),
    }
}

fn any_cell(depth: u32, dice: &mut Dice) -> Box<dyn Cell> {
    cell(dice.below(KINDS), depth, dice)
}

pub fn chain(depth: u32, dice: &mut Dice) -> Chain {
    let mut chain = Chain::new();
    for _ in 0..dice.below(5) {
        chain.push(any_cell(depth, dice));
    }
    chain
}

pub fn medium(stations: u64, dice: &mut Dice) -> Medium {
    let setup = MediumSetup {
        rate: BitRate::from_bps([10_000_000, 100_000_000][dice.below(2) as usize]),
        repeater: Duration::from_nanos(dice.below(2000)),
        late: [LateCollision::Drop, LateCollision::Retry][dice.below(2) as usize],
    };
    let stations = (0..stations).map(|_| StationSetup {
        duplex: match dice.below(3) {
            0 if stations == 2 => Duplex::Full,
            _ => Duplex::Half,
        },
        distance: Duration::from_nanos(dice.below(30_000)),
        queue: queue(dice),
    });
    let stations = stations.collect();
    Medium::new(setup, stations, own_dice(dice)).unwrap()
}

pub fn switch(ports: u64, dice: &mut Dice) -> Switch {
    let behaviour = SwitchBehaviour {
        latency: time(dice, 20),
        memory: [
            None,
            Some(Duration::from_micros(100)),
            Some(Duration::from_secs(300)),
        ][dice.below(3) as usize],
        pause: (dice.below(2) == 0).then(|| PauseMarks {
            high: dice.below(20_000),
            low: dice.below(10_000),
        }),
    };
    let ports = (0..ports).map(|_| match dice.below(4) {
        0 => SwitchPort::Through,
        _ => SwitchPort::Line(Box::new(serialiser(dice))),
    });
    let ports = ports.collect();
    Switch::new(behaviour, ports).unwrap()
}

/// A tree of links, switches and media, and the places where hosts are.
pub fn network(dice: &mut Dice) -> (Network, Vec<Place>) {
    let mut network = Network::new();
    let mut open: Vec<Place> = Vec::new();
    for _ in 0..=dice.below(7) {
        let ports = 2 + dice.below(3);
        let (node, ports) = match dice.below(4) {
            0 => (network.add(switch(ports, dice)), ports),
            1 => (network.add(medium(ports, dice)), ports),
            _ => (network.add(Link::new(chain(1, dice), chain(1, dice))), 2),
        };
        let place = |port: u64| Place {
            node,
            port: port as usize,
        };
        let mut free: Vec<Place> = (0..ports).map(place).collect();
        if !open.is_empty() {
            let peer = open.swap_remove(dice.below(open.len() as u64) as usize);
            network.join(free.remove(0), peer).unwrap();
        }
        open.append(&mut free);
    }
    (network, open)
}

/// A frame between two of `hosts` stations, sometimes to all, sometimes a PAUSE.
pub fn frame(id: u64, hosts: u64, dice: &mut Dice) -> Frame {
    if dice.below(50) == 0 {
        return Frame::of_pause(dice.below(100) as u16);
    }
    let station = |number: u64| MacAddress::station(number as u32);
    let destination = match dice.below(10) {
        0 => MacAddress::BROADCAST,
        _ => station(dice.below(hosts)),
    };
    let length = [64, 65, 590, 1518, 9018][dice.below(5) as usize];
    Frame::of_length(id, length)
        .between(station(dice.below(hosts)), destination)
        .in_flow(dice.below(8))
}
