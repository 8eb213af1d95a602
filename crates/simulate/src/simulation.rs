//! A simulation: flows over a topology from the start of virtual time to its end.

use std::collections::VecDeque;
use std::time::Duration;

use caudal_core::units::ByteCount;
use caudal_link::frame::Frame;
use caudal_link::model::HostArrival;
use caudal_link::random::Rng;
use caudal_link::time::SimTime;
use caudal_stats::random::mix;
use caudal_topology::Topology;

use crate::error::SimulateError;
use crate::event_queue::{EventQueue, SimEvent};
use crate::flow::{ActiveFlow, OutgoingPacket};
use crate::goodput::ReceivedBytes;
use crate::host_jitter::{HostJitter, WaitingFrame};
use crate::network::SimNetwork;
use crate::packet::{FlowSide, Packet};
use crate::result::{FlowResult, SimulationResult};
use crate::scenario::{MAX_DURATION, MAX_FLOWS, MAX_INTERVALS, Scenario, SimFlow};

/// The length of Ethernet's header and check sequence.
const ETHERNET_BYTES: u32 = 18;
const VLAN_BYTES: u32 = 4;
/// The interval of announcements, well within the ageing time of switches.
const ANNOUNCE_INTERVAL_NS: u64 = 100_000_000_000;

/// A flow with its nodes, its schedule and the bytes it has received.
#[derive(Debug)]
struct TrackedFlow {
    flow: ActiveFlow,
    /// The nodes at the initiator's and the responder's side.
    nodes: [usize; 2],
    start: SimTime,
    stop: Option<SimTime>,
    /// The time at which everything was received, or the application was done.
    finished: Option<SimTime>,
    received: ReceivedBytes,
    /// The bytes received until the application stopped.
    received_in_time: u64,
    /// The time of the earliest pending wake-up event.
    wakeup: Option<SimTime>,
}

/// The state of a simulation.
struct Simulation {
    network: SimNetwork,
    host_jitter: HostJitter,
    events: EventQueue,
    flows: Vec<TrackedFlow>,
    now: SimTime,
    /// The number of events so far.
    event_count: u64,
    /// Frames that have arrived at hosts and routers and are still to be processed.
    arrived: VecDeque<HostArrival>,
    /// Buffers kept to save allocations.
    arriving: Vec<HostArrival>,
    outgoing: Vec<OutgoingPacket>,
}

/// Simulates `scenario` over `topology`.
///
/// The same input gives the same result to the last bit. The simulation ends after its duration, when every flow is done and
/// nothing is in flight, or at the scenario's limit of events.
///
/// # Errors
/// When a flow has no hosts, no path or no room for payload, or the duration is out of range.
pub fn simulate(
    topology: &Topology,
    scenario: &Scenario,
) -> Result<SimulationResult, SimulateError> {
    let mut simulation = Simulation::new(topology, scenario)?;
    let end = SimTime::START + scenario.duration;
    let run_end = simulation.run(end, scenario.event_limit);
    let cut_short = run_end == RunEnd::EventLimit;
    let end = if cut_short { simulation.now } else { end };
    let name = |node: usize| topology.nodes[node].name.clone();
    let flows = simulation.flows.iter();
    Ok(SimulationResult {
        flows: flows.map(|flow| flow.result(end, name)).collect(),
        links: simulation.network.links(end),
        end,
        events: simulation.event_count,
        cut_short,
        ignored_frames: simulation.network.ignored_frames,
    })
}

/// The reason why [`Simulation::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RunEnd {
    /// The end was reached, or no event is left.
    Done,
    /// The limit of events was reached before.
    EventLimit,
}

fn check_limits(scenario: &Scenario) -> Result<(), SimulateError> {
    let (duration, interval) = (scenario.duration, scenario.interval);
    let intervals = duration.as_nanos().checked_div(interval.as_nanos());
    if duration.is_zero()
        || duration > MAX_DURATION
        || intervals.is_none_or(|count| count > u128::from(MAX_INTERVALS))
    {
        return Err(SimulateError::Duration {
            max_seconds: MAX_DURATION.as_secs(),
            max_intervals: MAX_INTERVALS,
        });
    }
    if scenario.flows.len() > MAX_FLOWS {
        return Err(SimulateError::TooManyFlows {
            count: scenario.flows.len(),
            max: MAX_FLOWS,
        });
    }
    Ok(())
}

impl Simulation {
    fn new(topology: &Topology, scenario: &Scenario) -> Result<Self, SimulateError> {
        check_limits(scenario)?;
        let network = SimNetwork::build(topology)?;
        // Flows have the random number streams from 0 on.
        let rng = Rng::new(scenario.seed, u64::MAX);
        let host_jitter = HostJitter::new(scenario.host_jitter, rng, topology.nodes.len());
        let mut events = EventQueue::default();
        events.schedule(SimTime::START, SimEvent::Announce);
        let mut flows = Vec::with_capacity(scenario.flows.len());
        for number in 0..scenario.flows.len() {
            let flow = TrackedFlow::new(topology, &network, scenario, number)?;
            events.schedule(flow.start, SimEvent::Start(number));
            if let Some(stop) = flow.stop {
                events.schedule(stop.max(flow.start), SimEvent::Stop(number));
            }
            flows.push(flow);
        }
        Ok(Self {
            network,
            host_jitter,
            events,
            flows,
            now: SimTime::START,
            event_count: 0,
            arrived: VecDeque::new(),
            arriving: Vec::new(),
            outgoing: Vec::new(),
        })
    }

    /// Continues until `end` or until there have been `event_limit` events.
    fn run(&mut self, end: SimTime, event_limit: u64) -> RunEnd {
        loop {
            let network = self.network.next_event();
            let pending = self.events.next_time();
            let Some(at) = [network, pending].into_iter().flatten().min() else {
                return RunEnd::Done;
            };
            if at > end {
                return RunEnd::Done;
            }
            if self.event_count >= event_limit {
                return RunEnd::EventLimit;
            }
            self.now = self.now.max(at);
            if network == Some(at) {
                self.network.advance(self.now, &mut self.arriving);
                self.take_arrivals();
            } else if let Some(event) = self.events.pop() {
                self.event_count += 1;
                self.process(event);
            }
            while let Some(arrival) = self.arrived.pop_front() {
                self.receive(&arrival);
                // Over links without rate and delay, events can follow one another without end at the same time.
                if self.event_count >= event_limit {
                    return RunEnd::EventLimit;
                }
            }
        }
    }

    fn take_arrivals(&mut self) {
        self.event_count += self.arriving.len() as u64;
        self.arrived.extend(self.arriving.drain(..));
    }

    fn process(&mut self, event: SimEvent) {
        let now = self.now;
        match event {
            SimEvent::Announce => {
                self.network.announce(now, &mut self.arriving);
                self.take_arrivals();
                let next = now.plus_ns(ANNOUNCE_INTERVAL_NS);
                self.events.schedule(next, SimEvent::Announce);
            }
            SimEvent::Release(node) => {
                if let Some((released, next)) = self.host_jitter.release(node) {
                    if let Some(next) = next {
                        self.events.schedule(next, event);
                    }
                    let WaitingFrame { to, frame, .. } = released;
                    self.transmit(node, to, frame);
                }
            }
            SimEvent::Start(flow) => {
                self.flows[flow].flow.start(now, &mut self.outgoing);
                self.update(flow);
            }
            SimEvent::Stop(flow) => {
                self.flows[flow].flow.stop();
                self.update(flow);
            }
            SimEvent::Wake(number) => {
                let flow = &mut self.flows[number];
                if flow.wakeup.is_some_and(|wakeup| wakeup <= now) {
                    flow.wakeup = None;
                }
                if flow.flow.deadline().is_some_and(|due| due <= now) {
                    flow.flow.wake(now, &mut self.outgoing);
                }
                self.update(number);
            }
        }
    }

    /// Processes a frame at a host or router: delivers it to its flow, forwards it, or ignores it.
    fn receive(&mut self, arrival: &HostArrival) {
        let Some(node) = self.network.receiver(arrival) else {
            return;
        };
        let Some(packet) = arrival
            .frame
            .bytes()
            .and_then(|bytes| Packet::decode(&bytes))
        else {
            self.network.ignored_frames += 1;
            return;
        };
        let number = packet.flow as usize;
        let Some(flow) = self.flows.get_mut(number) else {
            return;
        };
        let to = flow.nodes[packet.to as usize];
        if node == to {
            let now = arrival.at.max(self.now);
            flow.receive(now, &packet, &mut self.outgoing);
            self.update(number);
        } else if self.network.is_router(node) {
            self.event_count += 1;
            self.transmit(node, to, arrival.frame.clone());
        } else {
            self.network.ignored_frames += 1;
        }
    }

    /// Sends the outgoing packets of a flow and schedules its next wake-up.
    fn update(&mut self, number: usize) {
        let now = self.now;
        let mut outgoing = std::mem::take(&mut self.outgoing);
        for packet in outgoing.drain(..) {
            self.send(number, &packet);
        }
        self.outgoing = outgoing;
        let flow = &mut self.flows[number];
        if flow.finished.is_none() && flow.flow.is_finished() {
            flow.finished = Some(now);
        }
        if let Some(due) = flow.flow.deadline()
            && flow.wakeup.is_none_or(|wakeup| due < wakeup)
        {
            flow.wakeup = Some(due);
            self.events.schedule(due.max(now), SimEvent::Wake(number));
        }
    }

    /// Sends a packet of a flow, after the jitter of its host.
    fn send(&mut self, number: usize, outgoing: &OutgoingPacket) {
        let flow = &self.flows[number];
        let from = flow.nodes[outgoing.to.opposite() as usize];
        let to = flow.nodes[outgoing.to as usize];
        let vlan_bytes = if flow.flow.framing().vlan {
            VLAN_BYTES
        } else {
            0
        };
        let packet = Packet {
            // Below `MAX_FLOWS`.
            flow: number as u32,
            to: outgoing.to,
            body: outgoing.body,
        };
        let length = ETHERNET_BYTES + vlan_bytes + outgoing.bytes;
        let hash = flow_hash(number, outgoing.to);
        let frame = packet.encode(|bytes| {
            Frame::with_length(self.event_count, length)
                .with_content(bytes)
                .with_flow(hash)
        });
        self.event_count += 1;
        if self.host_jitter.is_zero() {
            self.transmit(from, to, frame);
        } else if let Some(at) = self.host_jitter.delay(self.now, from, to, frame) {
            self.events.schedule(at, SimEvent::Release(from));
        }
    }

    fn transmit(&mut self, from: usize, to: usize, frame: Frame) {
        self.network
            .send(self.now, from, to, frame, &mut self.arriving);
        self.take_arrivals();
    }
}

/// A number that stands for the hash of the addresses and ports of a flow's packets to one side.
const fn flow_hash(flow: usize, to: FlowSide) -> u64 {
    const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    let number = flow as u64 * 2 + to as u64;
    mix(number.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA))
}

impl TrackedFlow {
    /// Flow `number` of `scenario`.
    fn new(
        topology: &Topology,
        network: &SimNetwork,
        scenario: &Scenario,
        number: usize,
    ) -> Result<Self, SimulateError> {
        let flow: &SimFlow = &scenario.flows[number];
        let node = |name: &String| {
            let node = topology.node(name);
            node.filter(|node| topology.nodes[*node].has_addresses())
                .ok_or_else(|| SimulateError::NoHost {
                    flow: number,
                    node: name.clone(),
                })
        };
        let nodes = [node(&flow.from)?, node(&flow.to)?];
        let [from, to] = nodes;
        if from == to {
            return Err(SimulateError::SameHost(number));
        }
        let mtus = (network.mtu(from, to), network.mtu(to, from));
        let (Some(there), Some(back)) = mtus else {
            return Err(SimulateError::NoPath(number));
        };
        Ok(Self {
            flow: ActiveFlow::new(flow, number, there.min(back), scenario.seed)?,
            nodes,
            start: SimTime::START + flow.start,
            stop: flow.stop.map(|stop| SimTime::START + stop),
            finished: None,
            received: ReceivedBytes::new(scenario.interval),
            received_in_time: 0,
            wakeup: None,
        })
    }

    /// Delivers a packet to the side it is sent to.
    fn receive(&mut self, now: SimTime, packet: &Packet, out: &mut Vec<OutgoingPacket>) {
        let received = self.flow.receive(now, packet.to, &packet.body, out);
        if received > 0 {
            self.received.add(now, received);
            if self.stop.is_none_or(|stop| now <= stop) {
                self.received_in_time = self.received.total();
            }
        }
    }

    /// The result at `end`, the end of the simulation.
    fn result(&self, end: SimTime, name: impl Fn(usize) -> String) -> FlowResult {
        let flow_end = self
            .finished
            .unwrap_or(end)
            .min(self.stop.unwrap_or(end))
            .min(end);
        let payload_start = self.flow.payload_start(self.start);
        let start = payload_start.unwrap_or(self.start).min(flow_end);
        let time = Duration::from_nanos(flow_end.ns_since(start));
        FlowResult {
            from: name(self.nodes[0]),
            to: name(self.nodes[1]),
            start,
            end: flow_end,
            sent: ByteCount::new(self.flow.sent()),
            received: ByteCount::new(self.received.total()),
            goodput: ByteCount::new(self.received_in_time).per(time),
            intervals: self.received.intervals(end),
            details: self.flow.details(end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Traffic;
    use crate::tcp::TcpSettings;
    use caudal_topology::Preset;

    #[test]
    fn the_number_of_pending_events_does_not_grow_with_time() {
        let file = Preset::by_name("dumbbell").unwrap().file(None).unwrap();
        let topology = Topology::resolve(&file).unwrap();
        let flow = |from, to| SimFlow::between(from, to, Traffic::tcp(TcpSettings::default()));
        let flows = vec![flow("h1", "h3"), flow("h2", "h4")];
        let scenario = Scenario::new(flows, Duration::from_secs(300));
        let mut simulation = Simulation::new(&topology, &scenario).unwrap();
        for minute in 1..=5 {
            let end = SimTime::from_ns(minute * 60_000_000_000);
            assert_eq!(simulation.run(end, u64::MAX), RunEnd::Done);
            let waiting = simulation.host_jitter.len();
            let held = simulation.events.len() + simulation.arrived.len() + waiting;
            assert!(held < 1000, "{held} after {minute} minutes");
        }
        assert!(simulation.event_count > 500_000);
    }
}
