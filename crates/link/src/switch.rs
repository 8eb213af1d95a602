//! Store-and-forward switches.

use std::collections::{HashMap, VecDeque};

use caudal_topology::SwitchSetup;

use crate::counters::{DropReason, FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::{Frame, MacAddress};
use crate::node::{Egress, NetworkNode};
use crate::report::ComponentReport;
use crate::serialiser::Serialiser;
use crate::stage::{Setting, Stage, TimedFrame};
use crate::time::{SimTime, duration_to_ns};

/// Maximum number of learned addresses; frames to further stations are flooded.
const MAX_ADDRESSES: usize = 8192;
/// The longest pause that a PAUSE frame can request.
const MAX_PAUSE_QUANTA: u16 = u16::MAX;

/// The output of a switch port.
#[derive(Debug)]
pub enum SwitchPort {
    /// An output queue with a full-duplex line.
    Line(Box<Serialiser>),
    /// None: the connected node has a queue and a transmitter of its own, as a half-duplex station has.
    Through,
}

/// A switch that receives whole frames, learns addresses and queues at the output.
#[derive(Debug)]
pub struct Switch {
    setup: SwitchSetup,
    ports: Vec<SwitchPort>,
    /// Frames between input and output: the time they reach the output, their input port.
    forwarding: VecDeque<(SimTime, usize, Frame)>,
    /// The port behind which each address was last seen, and when.
    addresses: HashMap<MacAddress, (usize, SimTime)>,
    /// For each port, the end of the pause that its station was asked for.
    paused_until: Vec<Option<SimTime>>,
    counters: FrameCounters,
    scratch: Vec<TimedFrame>,
}

impl Switch {
    /// A switch that has learned no address.
    ///
    /// # Errors
    /// With fewer than two ports.
    pub fn new(setup: SwitchSetup, ports: Vec<SwitchPort>) -> Result<Self, LinkError> {
        if ports.len() < 2 {
            return Err(LinkError::TooFewPorts(ports.len()));
        }
        Ok(Self {
            setup,
            paused_until: vec![None; ports.len()],
            ports,
            forwarding: VecDeque::new(),
            addresses: HashMap::new(),
            counters: FrameCounters::default(),
            scratch: Vec::new(),
        })
    }

    /// The port behind which `address` was last seen, unless it has aged out.
    fn port_of(&self, address: MacAddress, now: SimTime) -> Option<usize> {
        let ageing_ns = duration_to_ns(self.setup.ageing_time?);
        let (port, seen) = self.addresses.get(&address)?;
        (now.ns_since(*seen) <= ageing_ns).then_some(*port)
    }

    fn learn(&mut self, address: MacAddress, port: usize, now: SimTime) {
        let Some(ageing_time) = self.setup.ageing_time else {
            return;
        };
        if address.is_group() {
            return;
        }
        if self.addresses.len() >= MAX_ADDRESSES && !self.addresses.contains_key(&address) {
            let ageing_ns = duration_to_ns(ageing_time);
            self.addresses
                .retain(|_, (_, seen)| now.ns_since(*seen) <= ageing_ns);
            if self.addresses.len() >= MAX_ADDRESSES {
                return;
            }
        }
        self.addresses.insert(address, (port, now));
    }

    fn forward(&mut self, now: SimTime, from: usize, frame: Frame, out: &mut Vec<Egress>) {
        self.learn(frame.source, from, now);
        let known = if frame.destination.is_group() {
            None
        } else {
            self.port_of(frame.destination, now)
        };
        match known {
            Some(to) if to == from => self.counters.drop(&frame, DropReason::NoPort),
            Some(to) => self.send(now, from, to, frame, out),
            None => {
                let mut others = (0..self.ports.len()).filter(|to| *to != from);
                // There are at least two ports, so there is another.
                let last = others.next_back();
                for to in others {
                    self.counters.added.add(&frame);
                    self.send(now, from, to, frame.clone(), out);
                }
                if let Some(to) = last {
                    self.send(now, from, to, frame, out);
                }
            }
        }
    }

    fn send(&mut self, now: SimTime, from: usize, to: usize, frame: Frame, out: &mut Vec<Egress>) {
        let queued_bytes = match &mut self.ports[to] {
            SwitchPort::Line(line) => {
                line.offer(now, frame, &mut self.scratch);
                line.queue().bytes()
            }
            SwitchPort::Through => {
                self.scratch.push(TimedFrame { at: now, frame });
                0
            }
        };
        self.deliver(to, out);
        if let Some(thresholds) = self.setup.pause
            && queued_bytes > thresholds.high
        {
            self.pause_station(now, from, out);
        }
    }

    /// Pauses the station at `port`, unless it is paused and will be for more than half the longest pause.
    fn pause_station(&mut self, now: SimTime, port: usize, out: &mut Vec<Egress>) {
        let SwitchPort::Line(line) = &mut self.ports[port] else {
            return;
        };
        let until = line.pause_end(now, MAX_PAUSE_QUANTA);
        let halfway = now.plus_ns(until.ns_since(now) / 2);
        if self.paused_until[port].is_none_or(|end| end < halfway) {
            self.paused_until[port] = Some(until);
            line.send_control(now, Frame::new_pause(MAX_PAUSE_QUANTA), &mut self.scratch);
            self.deliver(port, out);
        }
    }

    /// Resumes all paused stations when no queue is above the low threshold.
    fn resume_stations(&mut self, now: SimTime, out: &mut Vec<Egress>) {
        let Some(thresholds) = self.setup.pause else {
            return;
        };
        let is_long = |port: &SwitchPort| matches!(port, SwitchPort::Line(line) if line.queue().bytes() > thresholds.low);
        if self.paused_until.iter().all(Option::is_none) || self.ports.iter().any(is_long) {
            return;
        }
        for port in 0..self.ports.len() {
            if self.paused_until[port].take().is_some()
                && let SwitchPort::Line(line) = &mut self.ports[port]
            {
                line.send_control(now, Frame::new_pause(0), &mut self.scratch);
                self.deliver(port, out);
            }
        }
    }

    fn deliver(&mut self, port: usize, out: &mut Vec<Egress>) {
        for TimedFrame { at, frame } in self.scratch.drain(..) {
            self.counters.delivered.add(&frame);
            out.push(Egress { at, port, frame });
        }
    }
}

impl NetworkNode for Switch {
    fn kind(&self) -> &'static str {
        "switch"
    }

    fn ports(&self) -> usize {
        self.ports.len()
    }

    fn offer(&mut self, now: SimTime, port: usize, frame: Frame, out: &mut Vec<Egress>) {
        if port >= self.ports.len() {
            return;
        }
        self.advance(now, out);
        self.counters.offered.add(&frame);
        if let Some(quanta) = frame.pause_quanta {
            if let SwitchPort::Line(line) = &mut self.ports[port] {
                line.pause(now, quanta);
            }
            return self.counters.drop(&frame, DropReason::PauseConsumed);
        }
        let due = now + self.setup.latency;
        self.forwarding.push_back((due, port, frame));
        self.advance(now, out);
    }

    fn next_event(&self) -> Option<SimTime> {
        let lines = self.ports.iter().filter_map(|port| match port {
            SwitchPort::Line(line) => line.next_event(),
            SwitchPort::Through => None,
        });
        lines
            .chain(self.forwarding.front().map(|(due, ..)| *due))
            .min()
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<Egress>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for port in 0..self.ports.len() {
                if let SwitchPort::Line(line) = &mut self.ports[port] {
                    line.advance(at, &mut self.scratch);
                    self.deliver(port, out);
                }
            }
            self.resume_stations(at, out);
            while self.forwarding.front().is_some_and(|(due, ..)| *due <= at)
                && let Some((_, from, frame)) = self.forwarding.pop_front()
            {
                self.forward(at, from, frame, out);
            }
        }
    }

    fn counters(&self) -> FrameCounters {
        let mut counters = self.counters.clone();
        for port in &self.ports {
            if let SwitchPort::Line(line) = port {
                counters.merge_inner(&line.counters());
            }
        }
        counters
    }

    fn held(&self) -> FrameTotals {
        let mut held: FrameTotals = self.forwarding.iter().map(|(.., frame)| frame).collect();
        for port in &self.ports {
            if let SwitchPort::Line(line) = port {
                held += line.held();
            }
        }
        held
    }

    /// With a part for every port with a line, in order.
    fn report(&self, now: SimTime) -> ComponentReport {
        let lines = self.ports.iter().filter_map(|port| match port {
            SwitchPort::Line(line) => Some(line.report(now)),
            SwitchPort::Through => None,
        });
        ComponentReport {
            parts: lines.collect(),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }

    /// Changes `setting` of the line out of `port`.
    fn set(&mut self, now: SimTime, port: usize, setting: Setting) -> Result<bool, LinkError> {
        match self.ports.get_mut(port) {
            Some(SwitchPort::Line(line)) => line.set(now, setting),
            _ => Ok(false),
        }
    }
}
