//! A run: flows over a topology from the first moment to the last.

use std::collections::VecDeque;
use std::time::Duration;

use caudal_core::units::ByteCount;
use caudal_link::assembly::Reached;
use caudal_link::dice::Dice;
use caudal_link::frame::Frame;
use caudal_link::moment::Moment;
use caudal_topology::Topology;

use crate::agenda::{Agenda, Task};
use crate::error::SimulateError;
use crate::fabric::Fabric;
use crate::flow::{Leaving, Running};
use crate::outcome::{FlowOutcome, Outcome};
use crate::packet::{End, Packet};
use crate::scenario::{Flow, LONGEST, MAX_FLOWS, MAX_INTERVALS, Scenario};
use crate::span::{after, ns_between, whole_ns};
use crate::tally::Tally;

/// Ethernet's header and check sequence.
const ETHERNET_BYTES: u32 = 18;
const VLAN_BYTES: u32 = 4;
/// Well within the time for which switches remember a station.
const ANNOUNCE_EVERY_NS: u64 = 100_000_000_000;

/// A flow with its place in the network.
#[derive(Debug)]
struct Track {
    running: Running,
    /// The nodes at its near and far end.
    nodes: [usize; 2],
    start: Moment,
    stop: Option<Moment>,
    /// When all was received, or the application at the near end was done.
    finished: Option<Moment>,
    tally: Tally,
    /// What was received until the application stopped.
    counted: u64,
    /// The earliest task on the agenda.
    scheduled: Option<Moment>,
}

/// What hosts have to send, and are late with.
#[derive(Debug)]
struct Lateness {
    most_ns: u64,
    dice: Dice,
    /// For each node, what waits: when it leaves, for which node.
    waiting: Vec<VecDeque<(Moment, usize, Frame)>>,
}

/// Everything that moves.
struct Simulation {
    fabric: Fabric,
    lateness: Lateness,
    agenda: Agenda,
    tracks: Vec<Track>,
    now: Moment,
    events: u64,
    /// What reached ends and is still to be taken.
    reached: VecDeque<Reached>,
    arriving: Vec<Reached>,
    leaving: Vec<Leaving>,
}

/// Runs `scenario` over `topology` and tells what came of it.
///
/// The same input gives the same outcome to the last bit. The run ends at its duration, when every flow is done and
/// nothing is under way, or at the scenario's limit of events.
///
/// # Errors
/// When a flow has no ends, no way or no room, or the run no length.
pub fn run(topology: &Topology, scenario: &Scenario) -> Result<Outcome, SimulateError> {
    let mut simulation = Simulation::of(topology, scenario)?;
    let end = after(Moment::START, whole_ns(scenario.duration));
    let cut_short = simulation.run(end, scenario.event_limit);
    let until = if cut_short { simulation.now } else { end };
    let name = |node: usize| topology.nodes[node].name.clone();
    let flows = simulation.tracks.iter();
    Ok(Outcome {
        flows: flows.map(|track| track.outcome(until, name)).collect(),
        links: simulation.fabric.links(until),
        end: until,
        events: simulation.events,
        cut_short,
        disregarded: simulation.fabric.disregarded,
    })
}

/// Runs `flows` over `topology` for `duration`, with the usual seed, intervals and lateness.
///
/// # Errors
/// As [`run`].
pub fn of(
    topology: &Topology,
    flows: Vec<Flow>,
    duration: Duration,
) -> Result<Outcome, SimulateError> {
    run(topology, &Scenario::of(flows, duration))
}

impl Simulation {
    fn of(topology: &Topology, scenario: &Scenario) -> Result<Self, SimulateError> {
        let (duration, interval) = (scenario.duration, scenario.interval);
        let intervals = duration.as_nanos().checked_div(interval.as_nanos());
        if duration.is_zero()
            || duration > LONGEST
            || intervals.is_none_or(|count| count > u128::from(MAX_INTERVALS))
        {
            return Err(SimulateError::Length {
                longest: LONGEST.as_secs(),
                intervals: MAX_INTERVALS,
            });
        }
        if scenario.flows.len() > MAX_FLOWS {
            return Err(SimulateError::TooManyFlows(scenario.flows.len()));
        }
        let fabric = Fabric::of(topology)?;
        let lateness = Lateness {
            most_ns: whole_ns(scenario.lateness),
            // Flows have the streams from 0 on.
            dice: Dice::new(scenario.seed, u64::MAX),
            waiting: topology.nodes.iter().map(|_| VecDeque::new()).collect(),
        };
        let mut agenda = Agenda::default();
        agenda.put(Moment::START, Task::Announce);
        let mut tracks = Vec::with_capacity(scenario.flows.len());
        for (number, flow) in scenario.flows.iter().enumerate() {
            let node = |name: &String| {
                let known = topology.node(name);
                known
                    .filter(|node| topology.nodes[*node].has_addresses())
                    .ok_or_else(|| SimulateError::NoHost {
                        flow: number,
                        node: name.clone(),
                    })
            };
            let nodes = [node(&flow.from)?, node(&flow.to)?];
            if nodes[0] == nodes[1] {
                return Err(SimulateError::ToItself(number));
            }
            let ways = [
                fabric.mtu(nodes[0], nodes[1]),
                fabric.mtu(nodes[1], nodes[0]),
            ];
            let [Some(there), Some(back)] = ways else {
                return Err(SimulateError::NoWay(number));
            };
            let running = Running::new(flow, number, there.min(back), scenario.seed)?;
            let start = after(Moment::START, whole_ns(flow.start));
            let stop = flow.stop.map(|stop| after(Moment::START, whole_ns(stop)));
            agenda.put(start, Task::Start(number));
            if let Some(stop) = stop {
                agenda.put(stop.max(start), Task::Stop(number));
            }
            tracks.push(Track {
                running,
                nodes,
                start,
                stop,
                finished: None,
                tally: Tally::new(interval),
                counted: 0,
                scheduled: None,
            });
        }
        Ok(Self {
            fabric,
            lateness,
            agenda,
            tracks,
            now: Moment::START,
            events: 0,
            reached: VecDeque::new(),
            arriving: Vec::new(),
            leaving: Vec::new(),
        })
    }

    /// Goes on until `end`; gives whether `event_limit` came first.
    fn run(&mut self, end: Moment, event_limit: u64) -> bool {
        loop {
            let network = self.fabric.next_event();
            let task = self.agenda.next();
            let Some(at) = [network, task].into_iter().flatten().min() else {
                return false;
            };
            if at > end {
                return false;
            }
            if self.events >= event_limit {
                return true;
            }
            self.now = self.now.max(at);
            if network == Some(at) {
                self.fabric.advance(self.now, &mut self.arriving);
                self.take_in();
            } else if let Some((_, task)) = self.agenda.take() {
                self.events += 1;
                self.perform(task);
            }
            while let Some(reached) = self.reached.pop_front() {
                self.take(&reached);
                // Links without rate and delay can keep one moment going for ever.
                if self.events >= event_limit {
                    return true;
                }
            }
        }
    }

    fn take_in(&mut self) {
        self.events += self.arriving.len() as u64;
        self.reached.extend(self.arriving.drain(..));
    }

    fn perform(&mut self, task: Task) {
        let now = self.now;
        match task {
            Task::Announce => {
                self.fabric.announce(now, &mut self.arriving);
                self.take_in();
                let next = after(now, ANNOUNCE_EVERY_NS);
                self.agenda.put(next, Task::Announce);
            }
            Task::Release(node) => {
                let waiting = &mut self.lateness.waiting[node];
                if let Some((_, to, frame)) = waiting.pop_front() {
                    if let Some((next, _, _)) = waiting.front() {
                        self.agenda.put(*next, task);
                    }
                    self.release(node, to, frame);
                }
            }
            Task::Start(flow) => {
                self.tracks[flow].running.start(now, &mut self.leaving);
                self.settle(flow);
            }
            Task::Stop(flow) => {
                let track = &mut self.tracks[flow];
                track.running.stop();
                self.settle(flow);
            }
            Task::Wake(flow) => {
                let track = &mut self.tracks[flow];
                if track.scheduled.is_some_and(|scheduled| scheduled <= now) {
                    track.scheduled = None;
                }
                if track.running.deadline().is_some_and(|due| due <= now) {
                    track.running.wake(now, &mut self.leaving);
                }
                self.settle(flow);
            }
        }
    }

    /// Takes a frame at a host or router.
    fn take(&mut self, reached: &Reached) {
        let Some(node) = self.fabric.takes(reached) else {
            return;
        };
        let Some(packet) = reached.frame.bytes().and_then(Packet::decode) else {
            self.fabric.disregarded += 1;
            return;
        };
        let flow = packet.flow as usize;
        let Some(track) = self.tracks.get_mut(flow) else {
            return;
        };
        let to = track.nodes[usize::from(packet.toward == End::Far)];
        if node == to {
            let now = reached.at.max(self.now);
            let (toward, body) = (packet.toward, &packet.body);
            let came = track.running.receive(now, toward, body, &mut self.leaving);
            if came > 0 {
                track.tally.add(now, came);
                if track.stop.is_none_or(|stop| now <= stop) {
                    track.counted = track.tally.total();
                }
            }
            self.settle(flow);
        } else if self.fabric.forwards(node) {
            self.events += 1;
            let frame = reached.frame.clone();
            self.fabric
                .send(self.now, node, to, frame, &mut self.arriving);
            self.take_in();
        } else {
            self.fabric.disregarded += 1;
        }
    }

    /// Sends what a flow has to send and puts down when it has to be woken.
    fn settle(&mut self, flow: usize) {
        let now = self.now;
        let mut leaving = std::mem::take(&mut self.leaving);
        for packet in leaving.drain(..) {
            self.send(flow, &packet);
        }
        self.leaving = leaving;
        let track = &mut self.tracks[flow];
        if track.finished.is_none() && track.running.finished() {
            track.finished = Some(now);
        }
        if let Some(due) = track.running.deadline()
            && track.scheduled.is_none_or(|scheduled| due < scheduled)
        {
            track.scheduled = Some(due);
            self.agenda.put(due.max(now), Task::Wake(flow));
        }
    }

    fn send(&mut self, flow: usize, leaving: &Leaving) {
        let track = &self.tracks[flow];
        let [near, far] = track.nodes;
        let (from, to) = match leaving.toward {
            End::Far => (near, far),
            End::Near => (far, near),
        };
        let tag = if track.running.framing().vlan {
            VLAN_BYTES
        } else {
            0
        };
        let packet = Packet {
            // At most `MAX_FLOWS`.
            flow: flow as u32,
            toward: leaving.toward,
            body: leaving.body,
        };
        let length = ETHERNET_BYTES + tag + leaving.bytes;
        let hash = scatter(flow as u64 * 2 + u64::from(leaving.toward == End::Far));
        let frame = packet.encode(|bytes| {
            Frame::of_length(self.events, length)
                .carrying(bytes)
                .in_flow(hash)
        });
        self.events += 1;
        if self.lateness.most_ns == 0 {
            self.release(from, to, frame);
        } else {
            let late = self.lateness.dice.below(self.lateness.most_ns + 1);
            let waiting = &mut self.lateness.waiting[from];
            let behind = waiting.back().map_or(Moment::START, |(at, _, _)| *at);
            let at = after(self.now, late).max(behind);
            if waiting.is_empty() {
                self.agenda.put(at, Task::Release(from));
            }
            waiting.push_back((at, to, frame));
        }
    }

    fn release(&mut self, from: usize, to: usize, frame: Frame) {
        self.fabric
            .send(self.now, from, to, frame, &mut self.arriving);
        self.take_in();
    }
}

/// Spreads a number over all bits, as a hash of addresses and ports would.
///
/// Source: SplitMix64, Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
const fn scatter(number: u64) -> u64 {
    let value = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl Track {
    fn outcome(&self, until: Moment, name: impl Fn(usize) -> String) -> FlowOutcome {
        let end = self
            .finished
            .unwrap_or(until)
            .min(self.stop.unwrap_or(until))
            .min(until);
        let began = self.running.began(self.start);
        let start = began.unwrap_or(self.start).min(end);
        let span = Duration::from_nanos(ns_between(start, end));
        FlowOutcome {
            from: name(self.nodes[0]),
            to: name(self.nodes[1]),
            start,
            end,
            sent: ByteCount::new(self.running.sent()),
            received: ByteCount::new(self.tally.total()),
            goodput: ByteCount::new(self.counted).per(span),
            intervals: self.tally.intervals(until),
            details: self.running.details(until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Traffic;
    use crate::tcp::TcpSettings;
    use caudal_topology::{Preset, Topology};

    #[test]
    fn what_is_still_to_be_done_does_not_grow_with_time() {
        let file = Preset::by_name("dumbbell").unwrap().file(None).unwrap();
        let topology = Topology::resolve(&file).unwrap();
        let flow = |from, to| Flow::between(from, to, Traffic::tcp(TcpSettings::default()));
        let flows = vec![flow("h1", "h3"), flow("h2", "h4")];
        let scenario = Scenario::of(flows, Duration::from_secs(300));
        let mut simulation = Simulation::of(&topology, &scenario).unwrap();
        for minute in 1..=5 {
            let end = Moment::from_ns(minute * 60_000_000_000);
            assert!(!simulation.run(end, u64::MAX));
            let waiting: usize = simulation.lateness.waiting.iter().map(VecDeque::len).sum();
            let held = simulation.agenda.len() + simulation.reached.len() + waiting;
            assert!(held < 1000, "{held} after {minute} minutes");
        }
        assert!(simulation.events > 500_000);
    }
}
