//! Flows over a topology: every ceiling on the way of each, and the lowest, which binds.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ceilings::{Ceiling, Ceilings, Term};
use super::half_duplex::half_duplex_efficiency;
use super::loss::{Congestion, loss_ceiling};
use super::share::policed_tcp;
use super::window::{bandwidth_delay_product, window_ceiling};
use caudal_core::framing::Framing;
use caudal_core::plan::Transport;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, size, time};
use caudal_core::units::{BitRate, ByteCount};
use caudal_topology::{Balancing, Hop, Impairments, Measure, NodeRole, QueueLimit, Topology};

/// Bytes of wire time behind the last bit of a frame: the gap.
const GAP_BYTES: u64 = 12;
/// Bytes of wire time that no cell of a link counts to a frame: preamble and gap.
const UNCOUNTED_BYTES: u64 = 20;
/// Segments for each acknowledgement, as Linux acknowledges a stream.
const SEGMENTS_PER_ACK: u32 = 2;
/// Rounds in which rates of datagrams settle that overload one link behind another.
const ROUNDS: usize = 8;

/// A flow between two hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowQuestion {
    /// The node it begins at.
    pub from: usize,
    /// The node it leads to.
    pub to: usize,
    /// What surrounds its payload; links with a smaller MTU lower it.
    pub framing: Framing,
    /// What it is.
    pub kind: FlowKind,
}

/// What a flow is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowKind {
    /// A TCP transfer without an end.
    Tcp {
        /// How it answers to loss; `None` where no model says.
        congestion: Option<Congestion>,
        /// The smaller of the sender's and the receiver's window.
        window: ByteCount,
    },
    /// Datagrams at a steady rate.
    Udp {
        /// Of payload.
        rate: BitRate,
        /// In a datagram.
        payload: u32,
    },
    /// Messages that come back, one after the other.
    Echo {
        /// What carries them.
        transport: Transport,
        /// Bytes of each.
        message: u32,
    },
}

/// What should come of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Its links.
    pub path: Vec<Hop>,
    /// Those of the way back.
    pub back: Vec<Hop>,
    /// The largest packet on both.
    pub mtu: u32,
    /// The round trip of a full segment and its acknowledgement, or of a message, with empty queues.
    pub rtt: Duration,
    /// The hop with the least room for it.
    pub bottleneck: Option<Hop>,
    /// All that holds its rate back.
    pub ceilings: Ceilings,
    /// What is expected; the names are the same for every flow of a kind.
    pub predictions: Vec<Prediction>,
}

/// What flows share: one direction of a link, or a medium on which one sends at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shared {
    Direction(Hop),
    Link(usize),
    Hub(usize),
}

/// The rate of a impairments: of its line, of the fastest of its paths, or of all when frames are spread one by one.
fn line(impairments: &Impairments) -> Option<BitRate> {
    let highest = |impairments: &Impairments| {
        impairments
            .rate
            .as_ref()
            .map(caudal_topology::RateSetup::max)
    };
    if impairments.paths.is_empty() {
        return highest(impairments);
    }
    let rates: Option<Vec<BitRate>> = impairments.paths.iter().map(highest).collect();
    let rates = rates?;
    if impairments.balancing == Balancing::PerFrame {
        return Some(rates.into_iter().sum());
    }
    rates.into_iter().max()
}

/// The part of frames that one direction of a link loses at random.
fn lost(impairments: &Impairments) -> f64 {
    let bursts = impairments.burst_loss.map_or(0.0, |bursts| {
        let bad =
            bursts.good_to_bad / (bursts.good_to_bad + bursts.bad_to_good).max(f64::MIN_POSITIVE);
        bad * bursts.loss_in_bad + (1.0 - bad) * bursts.loss_in_good
    });
    let own = 1.0 - (1.0 - impairments.loss) * (1.0 - impairments.corrupt) * (1.0 - bursts);
    let paths = impairments.paths.iter().map(lost).sum::<f64>();
    // Chance spreads flows evenly over the paths.
    1.0 - (1.0 - own) * (1.0 - paths / impairments.paths.len().max(1) as f64)
}

/// How long a bit is under way, at least.
fn delay(impairments: &Impairments) -> Duration {
    let least = impairments
        .paths
        .iter()
        .map(delay)
        .min()
        .unwrap_or_default();
    impairments.delay + least
}

fn on_line(bytes: u64, rate: BitRate) -> Duration {
    let seconds = bytes.saturating_sub(GAP_BYTES) as f64 * 8.0 / rate.as_f64().max(1.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The network and the flows, with what each needs of what.
struct Network<'a> {
    topology: &'a Topology,
    flows: Vec<Crossing>,
}

/// A flow with its way.
struct Crossing {
    question: FlowQuestion,
    /// With the MTU of the way.
    framing: Framing,
    path: Vec<Hop>,
    back: Vec<Hop>,
}

impl Network<'_> {
    fn shared(&self, hop: Hop) -> Shared {
        let hub = self.topology.links[hop.link]
            .ends
            .iter()
            .find(|end| matches!(self.topology.nodes[end.node].role, NodeRole::Hub(_)));
        match hub {
            Some(end) => Shared::Hub(end.node),
            None if self.topology.is_half_duplex(hop) => Shared::Link(hop.link),
            None => Shared::Direction(hop),
        }
    }

    fn name(&self, hop: Hop) -> &str {
        &self.topology.links[hop.link].name
    }

    /// From a frame's first bit to its last at the far end of a way, with empty queues.
    fn one_way(&self, path: &[Hop], bytes: u64) -> Duration {
        let hops = path.iter().map(|hop| {
            let impairments = self.topology.impairments(*hop);
            let wait = match &self.topology.nodes[self.topology.node_after(*hop)].role {
                NodeRole::Switch(setup) => setup.latency,
                _ => Duration::ZERO,
            };
            // A hub repeats a frame while it comes.
            let repeated = matches!(
                self.topology.nodes[self.topology.node_after(*hop)].role,
                NodeRole::Hub(_)
            );
            let line = line(impairments).filter(|_| !repeated);
            delay(impairments) + wait + line.map_or(Duration::ZERO, |rate| on_line(bytes, rate))
        });
        hops.sum()
    }

    /// The wire time a flow's payload takes on a way of `shared`, as a multiple of that of its full segments: its data, its
    /// acknowledgements, or both.
    fn weights(&self, flow: &Crossing) -> BTreeMap<Shared, f64> {
        let mut weights = BTreeMap::new();
        if !matches!(flow.question.kind, FlowKind::Tcp { .. }) {
            return weights;
        }
        let full = flow.framing.wire_bytes(u64::from(flow.framing.mtu)) as f64;
        let answers = flow.framing.ack_wire_bytes() as f64 / (f64::from(SEGMENTS_PER_ACK) * full);
        let mut seen = std::collections::BTreeSet::new();
        for (path, part) in [(&flow.path, 1.0), (&flow.back, answers)] {
            for hop in path {
                let shared = self.shared(*hop);
                // Two links at one hub are one medium.
                if seen.insert((shared, part == 1.0)) {
                    *weights.entry(shared).or_insert(0.0) += part;
                }
            }
        }
        weights
    }

    fn capacities(&self) -> BTreeMap<Shared, f64> {
        let mut all = BTreeMap::new();
        let hops = self
            .flows
            .iter()
            .flat_map(|flow| flow.path.iter().chain(&flow.back));
        for hop in hops {
            if let Some(rate) = line(self.topology.impairments(*hop)) {
                all.insert(self.shared(*hop), rate.as_f64());
            }
        }
        all
    }

    /// The part of each flow of datagrams that arrives, and the wire rate that all of them take of what is shared.
    fn datagrams(&self, capacities: &BTreeMap<Shared, f64>) -> (Vec<f64>, BTreeMap<Shared, f64>) {
        let mut part = vec![1.0; self.flows.len()];
        let mut load: BTreeMap<Shared, f64> = BTreeMap::new();
        for _ in 0..ROUNDS {
            let mut next: BTreeMap<Shared, f64> = BTreeMap::new();
            for (flow, part) in self.flows.iter().zip(&mut part) {
                let FlowKind::Udp { rate, payload } = flow.question.kind else {
                    continue;
                };
                let wire = flow.framing.udp_wire_bytes(payload).unwrap_or(0) as f64;
                let pieces = flow.framing.udp_fragments(payload).unwrap_or(1) as f64;
                let offered = rate.as_f64() * wire / f64::from(payload.max(1));
                *part = 1.0;
                let mut before = None;
                for hop in &flow.path {
                    let shared = self.shared(*hop);
                    let impairments = self.topology.impairments(*hop);
                    if before != Some(shared) {
                        *next.entry(shared).or_insert(0.0) += offered * *part;
                        let fits = match (capacities.get(&shared), load.get(&shared)) {
                            (Some(room), Some(load)) if load > room => room / load,
                            _ => 1.0,
                        };
                        *part *= fits;
                    }
                    before = Some(shared);
                    *part *= (1.0 - lost(impairments)).powf(pieces);
                    if let Some(policer) = impairments.policer {
                        let counted = counted(policer.measure, wire, pieces);
                        let comes = rate.as_f64() * *part * counted / f64::from(payload.max(1));
                        *part *= (policer.rate.as_f64() / comes.max(1.0)).min(1.0);
                    }
                }
            }
            load = next;
        }
        (part, load)
    }

    /// The wire rates of TCP flows that share alike what is left to them, none above its own `most`, with what holds each.
    ///
    /// Source: progressive filling to max-min fairness, Bertsekas and Gallager, "Data Networks", section 6.5.2.
    fn fill(&self, room: &BTreeMap<Shared, f64>, most: &[f64]) -> Vec<(f64, Option<Shared>)> {
        let weights: Vec<BTreeMap<Shared, f64>> =
            self.flows.iter().map(|flow| self.weights(flow)).collect();
        let mut left = room.clone();
        let mut given: Vec<Option<(f64, Option<Shared>)>> = weights
            .iter()
            .map(|weights| weights.is_empty().then_some((0.0, None)))
            .collect();
        // Each round settles one flow at least.
        for _ in 0..self.flows.len() {
            let mut lowest: Option<(f64, usize, Option<Shared>)> = None;
            for flow in (0..self.flows.len()).filter(|flow| given[*flow].is_none()) {
                let mut level = (most[flow], None);
                for shared in weights[flow].keys() {
                    let wanted: f64 = (0..self.flows.len())
                        .filter(|other| given[*other].is_none())
                        .filter_map(|other| weights[other].get(shared))
                        .sum();
                    if let Some(left) = left.get(shared)
                        && left / wanted < level.0
                    {
                        level = (left / wanted, Some(*shared));
                    }
                }
                if lowest.is_none_or(|(least, _, _)| level.0 < least) {
                    lowest = Some((level.0, flow, level.1));
                }
            }
            let Some((level, flow, by)) = lowest else {
                break;
            };
            let level = level.max(0.0);
            for (shared, weight) in &weights[flow] {
                if let Some(left) = left.get_mut(shared) {
                    *left = (*left - weight * level).max(0.0);
                }
            }
            given[flow] = Some((level, by));
        }
        given
            .into_iter()
            .map(|given| given.unwrap_or((0.0, None)))
            .collect()
    }
}

/// The bytes that a bucket counts of what takes `wire` bytes of wire time in `pieces` frames.
fn counted(measure: Measure, wire: f64, pieces: f64) -> f64 {
    let uncounted = match measure {
        Measure::Wire => 0.0,
        Measure::Frame => UNCOUNTED_BYTES as f64,
        Measure::Packet => UNCOUNTED_BYTES as f64 + 18.0,
    };
    (wire - uncounted * pieces).max(1.0)
}

/// What should come of `flows` over `topology`, one forecast for each; without a way there is nothing to expect.
#[must_use]
pub fn topology(topology: &Topology, flows: &[FlowQuestion]) -> Vec<Forecast> {
    let crossing = |question: &FlowQuestion| {
        let path = topology
            .path(question.from, question.to)
            .unwrap_or_default();
        let back = topology
            .path(question.to, question.from)
            .unwrap_or_default();
        let hops = path.iter().chain(&back);
        let mtu = hops.map(|hop| topology.links[hop.link].mtu).min();
        Crossing {
            question: *question,
            framing: Framing {
                mtu: question.framing.mtu.min(mtu.unwrap_or(u32::MAX)),
                ..question.framing
            },
            path,
            back,
        }
    };
    let network = Network {
        topology,
        flows: flows.iter().map(crossing).collect(),
    };
    let capacities = network.capacities();
    let (arrives, taken) = network.datagrams(&capacities);
    let own: Vec<Ceilings> = network
        .flows
        .iter()
        .map(|flow| own(&network, flow))
        .collect();
    let most: Vec<f64> = own
        .iter()
        .zip(&network.flows)
        .map(|(own, flow)| {
            let payload = f64::from(flow.framing.tcp_payload_per_frame().max(1));
            let full = flow.framing.wire_bytes(u64::from(flow.framing.mtu)) as f64;
            own.binding()
                .map_or(f64::MAX, |least| least.rate.as_f64() * full / payload)
        })
        .collect();
    let room: BTreeMap<Shared, f64> = capacities
        .iter()
        .map(|(shared, rate)| {
            let taken = taken.get(shared).copied().unwrap_or(0.0);
            (*shared, (rate - taken).max(0.0))
        })
        .collect();
    let shares = network.fill(&room, &most);
    let mut all = Vec::with_capacity(flows.len());
    for (number, (flow, mut ceilings)) in network.flows.iter().zip(own).enumerate() {
        let (level, by) = shares[number];
        if let Some(by) = by {
            let others = (0..network.flows.len())
                .filter(|other| *other != number)
                .filter(|other| {
                    let other = &network.flows[*other];
                    let mut hops = other.path.iter().chain(&other.back);
                    hops.any(|hop| network.shared(*hop) == by)
                })
                .count();
            let payload = f64::from(flow.framing.tcp_payload_per_frame());
            let full = flow.framing.wire_bytes(u64::from(flow.framing.mtu)) as f64;
            if others > 0 {
                let udp = taken.get(&by).copied().unwrap_or(0.0);
                ceilings.push(sharing(&network, by, others, (level, udp), payload / full));
            }
        }
        all.push(forecast(&network, flow, ceilings, arrives[number]));
    }
    all
}

fn sharing(
    network: &Network<'_>,
    by: Shared,
    others: usize,
    (level, udp): (f64, f64),
    efficiency: f64,
) -> Ceiling {
    let name = match by {
        Shared::Direction(hop) => network.name(hop).to_owned(),
        Shared::Link(link) => network.topology.links[link].name.clone(),
        Shared::Hub(node) => network.topology.nodes[node].name.clone(),
    };
    let share = BitRate::from_f64(level * efficiency).unwrap_or(BitRate::ZERO);
    let beside = if udp > 0.0 {
        format!(
            "; UDP takes {} of the wire first",
            Unit::BitPerSecond.show(udp)
        )
    } else {
        String::new()
    };
    Ceiling {
        term: Term::Sharing,
        rate: share,
        why: format!(
            "at {name} with {others} other flow{}{beside}: {} of the wire × {efficiency:.4} = {}",
            if others == 1 { "" } else { "s" },
            Unit::BitPerSecond.show(level),
            rate(share)
        ),
        assumes: "TCP flows share alike what datagrams leave, whatever their round trips, in the long run"
            .to_owned(),
        source: "max-min fairness, Bertsekas and Gallager, Data Networks, section 6.5.2".to_owned(),
        tolerance: Tolerance::SHARE,
    }
}

/// The ceilings of a flow that it has alone.
fn own(network: &Network<'_>, flow: &Crossing) -> Ceilings {
    let mut ceilings = Ceilings::new();
    match flow.question.kind {
        FlowKind::Tcp { congestion, window } => {
            wire(network, flow, &mut ceilings);
            if flow.path.is_empty() || flow.framing.tcp_payload_per_frame() == 0 {
                return ceilings;
            }
            let rtt = round_trip(network, flow);
            ceilings_push(&mut ceilings, window_ceiling(window, rtt, 1));
            let loss = path_loss(network, &flow.path);
            let mss = flow.framing.tcp_payload_per_frame();
            if let Some(congestion) = congestion.filter(|_| loss > 0.0 && loss < 1.0) {
                ceilings_push(&mut ceilings, loss_ceiling(congestion, mss, rtt, loss, 1));
            }
            buckets(network, flow, rtt, &mut ceilings);
        }
        FlowKind::Udp { rate: asked, .. } => {
            ceilings.push(Ceiling {
                term: Term::Asked,
                rate: asked,
                why: format!("{} of payload is offered", rate(asked)),
                assumes: "the source sends evenly".to_owned(),
                source: "the flow as it was given".to_owned(),
                tolerance: Tolerance::EXACT,
            });
            wire(network, flow, &mut ceilings);
        }
        FlowKind::Echo { .. } => {}
    }
    ceilings
}

fn ceilings_push(ceilings: &mut Ceilings, ceiling: Option<Ceiling>) {
    if let Some(ceiling) = ceiling {
        ceilings.push(ceiling);
    }
}

/// The slowest wire, and the slowest medium that data and acknowledgements share.
fn wire(network: &Network<'_>, flow: &Crossing, ceilings: &mut Ceilings) {
    let framing = &flow.framing;
    let (payload, wire) = match flow.question.kind {
        FlowKind::Udp { payload, .. } => (payload, framing.udp_wire_bytes(payload).unwrap_or(0)),
        _ => (
            framing.tcp_payload_per_frame(),
            framing.wire_bytes(u64::from(framing.mtu)),
        ),
    };
    if payload == 0 || wire == 0 {
        return;
    }
    let hops = flow.path.iter().filter_map(|hop| {
        let rate = line(network.topology.impairments(*hop))?;
        Some((rate, *hop))
    });
    let slowest = |half: bool| {
        hops.clone()
            .filter(|(_, hop)| !half || network.topology.is_half_duplex(*hop))
            .min_by_key(|(rate, _)| *rate)
    };
    if let Some((line, hop)) = slowest(false) {
        let part = f64::from(payload) / wire as f64;
        let value = BitRate::from_f64(line.as_f64() * part).unwrap_or(BitRate::ZERO);
        ceilings.push(Ceiling {
            term: Term::Wire,
            rate: value,
            why: format!(
                "{} at {} × {payload} / {wire} = {}",
                rate(line),
                network.name(hop),
                rate(value)
            ),
            assumes: "every frame full, nothing else on the link, no loss, at its highest rate"
                .to_owned(),
            source: "IEEE 802.3 clauses 3 and 4; RFC 6349 section 3.3.1".to_owned(),
            tolerance: Tolerance::EXACT,
        });
    }
    let tcp = matches!(flow.question.kind, FlowKind::Tcp { .. });
    if let Some((line, hop)) = slowest(true).filter(|_| tcp)
        && let Some(part) = half_duplex_efficiency(framing, SEGMENTS_PER_ACK)
    {
        let value = BitRate::from_f64(line.as_f64() * part).unwrap_or(BitRate::ZERO);
        ceilings.push(Ceiling {
            term: Term::HalfDuplex,
            rate: value,
            why: format!(
                "{} at {}, an acknowledgement for every {SEGMENTS_PER_ACK} segments on the same medium: × {part:.4} = {}",
                rate(line),
                network.name(hop),
                rate(value)
            ),
            assumes: "no collisions and no idle time: an upper bound, the capture effect may take a third"
                .to_owned(),
            source: "IEEE 802.3 framing; RFC 1122 section 4.2.3.2; Ramakrishnan and Yang 1994".to_owned(),
            tolerance: Tolerance {
                below: 0.36,
                above: 0.02,
            },
        });
    }
}

/// Policers and shapers on the way of a TCP flow.
fn buckets(network: &Network<'_>, flow: &Crossing, rtt: Duration, ceilings: &mut Ceilings) {
    let mss = flow.framing.tcp_payload_per_frame();
    let wire = flow.framing.wire_bytes(u64::from(flow.framing.mtu)) as f64;
    for hop in &flow.path {
        let impairments = network.topology.impairments(*hop);
        if let Some(policer) = impairments.policer {
            let part = f64::from(mss) / counted(policer.measure, wire, 1.0);
            let through = BitRate::from_f64(policer.rate.as_f64() * part).unwrap_or(BitRate::ZERO);
            if let Some(value) = policed_tcp(through, policer.burst, mss, rtt) {
                ceilings.push(Ceiling {
                    term: Term::Policer,
                    rate: value,
                    why: format!(
                        "{} at {} is P = {} of payload; min(P, ¾·(P + 8·√(2 × {} × {mss})/{})) = {}",
                        rate(policer.rate),
                        network.name(*hop),
                        rate(through),
                        policer.burst.get(),
                        time(rtt),
                        rate(value)
                    ),
                    assumes: "Reno's saw-tooth; what lost more than it needed to is slower still".to_owned(),
                    source: "RFC 5681 section 3.1 against the token bucket of RFC 2697".to_owned(),
                    tolerance: Tolerance::FACTOR_TWO,
                });
            }
        }
        if let Some(shaper) = impairments.shaper {
            let part = f64::from(mss) / counted(shaper.measure, wire, 1.0);
            let value = BitRate::from_f64(shaper.rate.as_f64() * part).unwrap_or(BitRate::ZERO);
            ceilings.push(Ceiling {
                term: Term::Shaper,
                rate: value,
                why: format!(
                    "{} at {} × {part:.4} = {}",
                    rate(shaper.rate),
                    network.name(*hop),
                    rate(value)
                ),
                assumes: "its bucket is soon empty".to_owned(),
                source: "RFC 2697".to_owned(),
                tolerance: Tolerance::both(0.05),
            });
        }
    }
}

fn path_loss(network: &Network<'_>, path: &[Hop]) -> f64 {
    let arrives = path
        .iter()
        .map(|hop| 1.0 - lost(network.topology.impairments(*hop)))
        .product::<f64>();
    1.0 - arrives
}

/// The round trip with empty queues.
fn round_trip(network: &Network<'_>, flow: &Crossing) -> Duration {
    let framing = &flow.framing;
    let full = framing.wire_bytes(u64::from(framing.mtu));
    match flow.question.kind {
        FlowKind::Tcp { .. } => {
            network.one_way(&flow.path, full)
                + network.one_way(&flow.back, framing.ack_wire_bytes())
        }
        FlowKind::Udp { payload, .. } => {
            let wire = framing.udp_wire_bytes(payload).unwrap_or(0);
            message(network, &flow.path, wire, full)
        }
        FlowKind::Echo {
            transport,
            message: bytes,
        } => {
            let wire = match transport {
                Transport::Tcp => framing.tcp_wire_bytes(u64::from(bytes)),
                Transport::Udp => framing.udp_wire_bytes(bytes),
            };
            let wire = wire.unwrap_or(0);
            message(network, &flow.path, wire, full) + message(network, &flow.back, wire, full)
        }
    }
}

/// The time of a message of several frames: the slowest link carries all of it, the others one frame behind that.
fn message(network: &Network<'_>, path: &[Hop], wire: u64, full: u64) -> Duration {
    let frame = wire.min(full);
    let slowest = path
        .iter()
        .filter_map(|hop| line(network.topology.impairments(*hop)))
        .min();
    let rest = slowest.map_or(Duration::ZERO, |rate| {
        let seconds = (wire - frame) as f64 * 8.0 / rate.as_f64().max(1.0);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    });
    network.one_way(path, frame) + rest
}

/// The most that waits in front of a impairments, in time.
fn queue_time(impairments: &Impairments, wire: u64) -> Option<Duration> {
    let rate = line(impairments)?;
    let bytes = match impairments.queue.limit {
        QueueLimit::Frames(frames) => frames.saturating_mul(wire),
        QueueLimit::Bytes(bytes) => bytes.get(),
        QueueLimit::None => return None,
    };
    Duration::try_from_secs_f64(bytes as f64 * 8.0 / rate.as_f64().max(1.0)).ok()
}

fn forecast(network: &Network<'_>, flow: &Crossing, ceilings: Ceilings, arrives: f64) -> Forecast {
    let rtt = round_trip(network, flow);
    let rates = flow.path.iter().filter_map(|hop| {
        let rate = line(network.topology.impairments(*hop))?;
        Some((rate, *hop))
    });
    let bottleneck = rates.min_by_key(|(rate, _)| *rate);
    let mut predictions = Vec::new();
    match flow.question.kind {
        _ if flow.path.is_empty() => {}
        FlowKind::Tcp { .. } => {
            predictions.extend(ceilings.prediction("goodput", "TCP goodput"));
            predictions.extend(each(&ceilings));
            predictions.push(least(
                rtt,
                "round trip, full segment",
                "a full segment and its acknowledgement find empty queues",
            ));
            if let Some((line, hop)) = bottleneck {
                let product = bandwidth_delay_product(line, rtt);
                predictions.push(
                    Prediction::new(
                        "bdp",
                        "bandwidth-delay product",
                        product.as_f64(),
                        Unit::Bytes,
                    )
                    .detail(format!("{} at {}", rate(line), network.name(hop)))
                    .assumes("empty queues")
                    .source("RFC 6349 section 3.3.1")
                    .within(Tolerance::TIME)
                    .step(format!(
                        "{} × {} / 8 = {}",
                        rate(line),
                        time(rtt),
                        size(product)
                    )),
                );
                let wire = flow.framing.wire_bytes(u64::from(flow.framing.mtu));
                if let Some(wait) = queue_time(network.topology.impairments(hop), wire) {
                    let full = rtt + wait;
                    predictions.push(
                        Prediction::new("rtt_full", "round trip, queue full", full.as_secs_f64(), Unit::Seconds)
                            .detail(format!("{} in the queue of {}", time(wait), network.name(hop)))
                            .assumes("the queue of the slowest link fills with full segments, and no other does")
                            .source("store and forward")
                            .within(Tolerance::TIME)
                            .step(format!("{} + {} = {}", time(rtt), time(wait), time(full))),
                    );
                }
            }
            predictions.push(losses(
                path_loss(network, &flow.path),
                "segments lost",
                "queues, which lose as well, are left out",
            ));
        }
        FlowKind::Udp {
            rate: asked,
            payload,
        } => {
            let value = asked.as_f64() * arrives;
            let held = if arrives < 1.0 { "loss" } else { "asked" };
            let wire = ceilings
                .all()
                .iter()
                .find(|ceiling| ceiling.term == Term::Wire && ceiling.rate < asked);
            predictions.push(
                Prediction::new("goodput", "UDP goodput", value, Unit::BitPerSecond)
                    .bound_by(if wire.is_some() { "wire" } else { held })
                    .detail(format!("of {} offered", rate(asked)))
                    .assumes("drop-tail outputs lose of flows as they offer; TCP gives way")
                    .source("conservation at each output on the way")
                    .within(Tolerance::both(0.05))
                    .step(format!(
                        "{} × {} = {}",
                        rate(asked),
                        digits(arrives),
                        Unit::BitPerSecond.show(value)
                    )),
            );
            predictions.extend(each(&ceilings));
            predictions.push(
                losses(
                    1.0 - arrives,
                    "datagrams lost",
                    "drop-tail outputs lose of flows as they offer",
                )
                .within(Tolerance::both(0.05)),
            );
            predictions.push(least(
                rtt,
                "one way, least",
                &format!("datagrams of {payload} bytes find empty queues"),
            ));
        }
        FlowKind::Echo { message, .. } => {
            predictions.push(least(
                rtt,
                "round trip",
                "queues are empty and hosts answer at once",
            ));
            let rounds = 1.0 / rtt.as_secs_f64().max(1e-9);
            let value = rounds * f64::from(message) * 8.0;
            predictions.push(
                Prediction::new("goodput", "stop-and-wait", value, Unit::BitPerSecond)
                    .bound_by("rtt")
                    .detail(format!("{message} bytes a round trip"))
                    .assumes("one message under way")
                    .source("Kurose and Ross, Computer Networking, section 3.4.2")
                    .within(Tolerance::TIME)
                    .step(format!(
                        "{message} × 8 / {} = {}",
                        time(rtt),
                        Unit::BitPerSecond.show(value)
                    )),
            );
        }
    }
    Forecast {
        path: flow.path.clone(),
        back: flow.back.clone(),
        mtu: flow.framing.mtu,
        rtt,
        bottleneck: bottleneck.map(|(_, hop)| hop),
        ceilings,
        predictions,
    }
}

fn least(rtt: Duration, title: &str, assumes: &str) -> Prediction {
    Prediction::new("rtt", title, rtt.as_secs_f64(), Unit::Seconds)
        .detail("empty queues")
        .assumes(assumes)
        .source("store and forward; IEEE 802.3 framing")
        .within(Tolerance::TIME)
        .step(format!(
            "delays, and the time of each frame on each line = {}",
            time(rtt)
        ))
}

fn losses(share: f64, title: &str, assumes: &str) -> Prediction {
    Prediction::new("loss", title, share, Unit::Share)
        .assumes(assumes)
        .source("independence of losses; conservation")
        .within(Tolerance::FACTOR_TWO)
        .step(format!(
            "1 − the product of what each link lets through = {}",
            digits(share)
        ))
}

/// Each ceiling as a prediction of its own.
fn each(ceilings: &Ceilings) -> Vec<Prediction> {
    let one = |ceiling: &Ceiling| {
        let title = format!("  ceiling: {}", ceiling.term.words());
        let name = format!("ceiling_{}", ceiling.term.name());
        Prediction::new(name, title, ceiling.rate.as_f64(), Unit::BitPerSecond)
            .assumes(ceiling.assumes.clone())
            .source(ceiling.source.clone())
            .within(ceiling.tolerance)
            .step(ceiling.why.clone())
    };
    ceilings.all().iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_topology::{Preset, TopologyFile};

    fn tcp(topology: &Topology, from: &str, to: &str) -> FlowQuestion {
        FlowQuestion {
            from: topology.node(from).unwrap(),
            to: topology.node(to).unwrap(),
            framing: Framing::default(),
            kind: FlowKind::Tcp {
                congestion: Some(Congestion::Cubic),
                window: ByteCount::new(4 << 20),
            },
        }
    }

    fn udp(topology: &Topology, from: &str, to: &str, mbit: u64) -> FlowQuestion {
        let kind = FlowKind::Udp {
            rate: BitRate::from_bps(mbit * 1_000_000),
            payload: 1472,
        };
        FlowQuestion {
            kind,
            ..tcp(topology, from, to)
        }
    }

    fn preset(name: &str) -> Topology {
        let file = Preset::by_name(name).unwrap().file(None).unwrap();
        Topology::resolve(&file).unwrap()
    }

    fn of(text: &str) -> Topology {
        let file: TopologyFile = toml::from_str(text).unwrap();
        Topology::resolve(&file).unwrap()
    }

    /// The goodput in Mbit/s and the term that binds.
    fn goodput(forecast: &Forecast) -> (f64, String) {
        let mut all = forecast.predictions.iter();
        let one = all.find(|one| one.name == "goodput").unwrap();
        (
            (one.value / 1e4).round() / 100.0,
            one.binding.clone().unwrap(),
        )
    }

    #[test]
    fn the_slowest_link_binds_one_flow_and_its_share_binds_two() {
        let topology_ = preset("dumbbell");
        let (one, other) = (tcp(&topology_, "h1", "h3"), tcp(&topology_, "h2", "h4"));
        let alone = topology(&topology_, &[one]);
        assert_eq!(goodput(&alone[0]), (9.41, "wire".to_owned()));
        let bottleneck = alone[0].bottleneck.unwrap();
        assert_eq!(topology_.links[bottleneck.link].name, "bottleneck");
        for forecast in topology(&topology_, &[one, other]) {
            assert_eq!(goodput(&forecast), (4.71, "sharing".to_owned()));
        }
    }

    #[test]
    fn datagrams_overload_an_output_and_leave_the_rest_to_tcp() {
        let star = preset("star");
        let floods = [udp(&star, "h1", "h2", 8), udp(&star, "h3", "h2", 8)];
        for forecast in topology(&star, &floods) {
            let loss = forecast.predictions.iter().find(|one| one.name == "loss");
            assert!((loss.unwrap().value - 0.4018).abs() < 0.0001);
        }
        let mixed = [tcp(&star, "h1", "h2"), udp(&star, "h3", "h2", 3)];
        assert_eq!(
            goodput(&topology(&star, &mixed)[0]),
            (6.46, "sharing".to_owned())
        );
        // A flow that meets nobody keeps its link.
        let apart = [tcp(&star, "h1", "h2"), udp(&star, "h2", "h3", 3)];
        assert_eq!(
            goodput(&topology(&star, &apart)[0]),
            (9.41, "wire".to_owned())
        );
    }

    #[test]
    fn windows_losses_policers_and_half_duplex_bind_where_they_are_lowest() {
        let link = |keys: &str| {
            of(&format!(
                "host = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ between = [\"a\", \"b\"], {keys} }}]"
            ))
        };
        for (keys, term) in [
            ("rate = \"100M\", delay = \"50ms\", loss = 0.0", "wire"),
            ("rate = \"1G\", delay = \"200ms\"", "window"),
            ("rate = \"100M\", delay = \"50ms\", loss = 0.01", "loss"),
            ("rate = \"10M\", duplex = \"half\"", "half_duplex"),
            (
                "rate = \"100M\", delay = \"20ms\", policer = { rate = \"5M\", burst = \"15k\" }",
                "policer",
            ),
            (
                "rate = \"100M\", delay = \"1ms\", shaper = { rate = \"5M\", burst = \"15k\" }",
                "shaper",
            ),
        ] {
            let it = link(keys);
            let forecast = &topology(&it, &[tcp(&it, "a", "b")])[0];
            assert_eq!(goodput(forecast).1, term, "{keys}");
            let ceilings = forecast.ceilings.all();
            assert!(
                ceilings
                    .iter()
                    .all(|one| one.rate >= forecast.ceilings.binding().unwrap().rate)
            );
        }
    }

    #[test]
    fn no_link_carries_more_than_it_can_however_many_flows_there_are() {
        for name in [
            "pair",
            "line",
            "dumbbell",
            "star",
            "policed",
            "two-paths",
            "wan",
        ] {
            let it = preset(name);
            let hosts: Vec<usize> = (0..it.nodes.len())
                .filter(|node| matches!(it.nodes[*node].role, NodeRole::Host(_)))
                .collect();
            let mut flows = Vec::new();
            for from in &hosts {
                for to in hosts.iter().filter(|to| *to != from) {
                    flows.push(FlowQuestion {
                        from: *from,
                        to: *to,
                        ..tcp(&it, "h1", "h2")
                    });
                }
            }
            let mut load: BTreeMap<Hop, f64> = BTreeMap::new();
            for forecast in topology(&it, &flows) {
                // Hosts of one site with nothing between them that has a rate or a delay.
                if forecast.ceilings.all().is_empty() {
                    continue;
                }
                for hop in &forecast.path {
                    *load.entry(*hop).or_insert(0.0) += goodput(&forecast).0 * 1e6;
                }
            }
            for (hop, load) in load {
                let Some(rate) = line(it.impairments(hop)) else {
                    continue;
                };
                assert!(load <= rate.as_f64() * 0.9416, "{name}: {load} on {hop:?}");
            }
        }
    }
}
