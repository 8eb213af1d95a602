//! A store-and-forward switch.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::cell::{Cell, Delivery, Setting};
use crate::counters::{Counters, DropReason, Report, Traffic};
use crate::error::LinkError;
use crate::frame::{Frame, MacAddress};
use crate::moment::{Moment, whole_ns};
use crate::node::{Exit, Node};
use crate::serialiser::Serialiser;

/// Addresses a switch remembers at most; further stations are flooded to.
const TABLE: usize = 8192;
/// The longest pause a frame can ask for.
const LONGEST_PAUSE: u16 = u16::MAX;

/// What stands between the switch and whatever a port is joined to.
#[derive(Debug)]
pub enum SwitchPort {
    /// An output queue and a full-duplex line.
    Line(Box<Serialiser>),
    /// Nothing: what the port is joined to queues and sends by itself, as a half-duplex station does.
    Through,
}

/// When a switch asks stations to hold back.
///
/// While the queue in front of any line holds more than `high` bytes, a station whose frame joins it is sent PAUSE; when no
/// queue holds more than `low` any more, all may go on (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PauseMarks {
    /// Bytes above which stations are paused.
    pub high: u64,
    /// Bytes at which they go on.
    pub low: u64,
}

/// How a switch behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwitchBehaviour {
    /// From a frame's last bit in to its place in the output queue.
    pub latency: Duration,
    /// For how long a station's port is remembered, commonly 300 s; `None` floods every frame.
    pub memory: Option<Duration>,
    /// Whether and when it sends PAUSE frames.
    pub pause: Option<PauseMarks>,
}

impl Default for SwitchBehaviour {
    /// No latency, the five minutes of IEEE 802.1D table 7-5, no PAUSE.
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            memory: Some(Duration::from_secs(300)),
            pause: None,
        }
    }
}

/// Receives whole frames, learns who is where, and queues at the output.
#[derive(Debug)]
pub struct Switch {
    behaviour: SwitchBehaviour,
    ports: Vec<SwitchPort>,
    /// Frames on their way from input to output.
    inside: VecDeque<(Moment, usize, Frame)>,
    stations: HashMap<MacAddress, (usize, Moment)>,
    /// Until when each port's station has been asked to hold back.
    paused: Vec<Option<Moment>>,
    counters: Counters,
    scratch: Vec<Delivery>,
}

impl Switch {
    /// A switch that knows nobody yet.
    ///
    /// # Errors
    /// With fewer than two ports.
    pub fn new(behaviour: SwitchBehaviour, ports: Vec<SwitchPort>) -> Result<Self, LinkError> {
        if ports.len() < 2 {
            return Err(LinkError::TooFewPorts(ports.len()));
        }
        Ok(Self {
            behaviour,
            paused: vec![None; ports.len()],
            ports,
            inside: VecDeque::new(),
            stations: HashMap::new(),
            counters: Counters::default(),
            scratch: Vec::new(),
        })
    }

    /// The port behind which `station` was last seen, unless that is forgotten.
    fn port_of(&self, station: MacAddress, now: Moment) -> Option<usize> {
        let memory = whole_ns(self.behaviour.memory?);
        let (port, seen) = self.stations.get(&station)?;
        (now.ns_since(*seen) <= memory).then_some(*port)
    }

    fn learn(&mut self, station: MacAddress, port: usize, now: Moment) {
        let Some(memory) = self.behaviour.memory else {
            return;
        };
        if station.is_group() {
            return;
        }
        if self.stations.len() >= TABLE && !self.stations.contains_key(&station) {
            let memory = whole_ns(memory);
            self.stations
                .retain(|_, (_, seen)| now.ns_since(*seen) <= memory);
            if self.stations.len() >= TABLE {
                return;
            }
        }
        self.stations.insert(station, (port, now));
    }

    fn forward(&mut self, now: Moment, from: usize, frame: Frame, out: &mut Vec<Exit>) {
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
                // There are two ports at least, so there is another.
                let last = others.next_back();
                for to in others {
                    self.counters.added.count(&frame);
                    self.send(now, from, to, frame.clone(), out);
                }
                if let Some(to) = last {
                    self.send(now, from, to, frame, out);
                }
            }
        }
    }

    fn send(&mut self, now: Moment, from: usize, to: usize, frame: Frame, out: &mut Vec<Exit>) {
        let congested = match &mut self.ports[to] {
            SwitchPort::Line(line) => {
                line.offer(now, frame, &mut self.scratch);
                line.queue().bytes()
            }
            SwitchPort::Through => {
                self.scratch.push(Delivery { at: now, frame });
                0
            }
        };
        self.exit(to, out);
        if let Some(marks) = self.behaviour.pause
            && congested > marks.high
        {
            self.hold_back(now, from, out);
        }
    }

    /// Asks the station at `port` to hold back, unless it has been asked and is not about to go on.
    fn hold_back(&mut self, now: Moment, port: usize, out: &mut Vec<Exit>) {
        let SwitchPort::Line(line) = &mut self.ports[port] else {
            return;
        };
        let until = line.pause_end(now, LONGEST_PAUSE);
        let half = now.plus_ns(until.ns_since(now) / 2);
        if self.paused[port].is_none_or(|paused| paused < half) {
            self.paused[port] = Some(until);
            line.send_control(now, Frame::of_pause(LONGEST_PAUSE), &mut self.scratch);
            self.exit(port, out);
        }
    }

    /// Lets all stations go on when no queue is long any more.
    fn go_on(&mut self, now: Moment, out: &mut Vec<Exit>) {
        let Some(marks) = self.behaviour.pause else {
            return;
        };
        let long = |port: &SwitchPort| matches!(port, SwitchPort::Line(line) if line.queue().bytes() > marks.low);
        if self.paused.iter().all(Option::is_none) || self.ports.iter().any(long) {
            return;
        }
        for port in 0..self.ports.len() {
            if self.paused[port].take().is_some()
                && let SwitchPort::Line(line) = &mut self.ports[port]
            {
                line.send_control(now, Frame::of_pause(0), &mut self.scratch);
                self.exit(port, out);
            }
        }
    }

    fn exit(&mut self, port: usize, out: &mut Vec<Exit>) {
        for Delivery { at, frame } in self.scratch.drain(..) {
            self.counters.delivered.count(&frame);
            out.push(Exit { at, port, frame });
        }
    }
}

impl Node for Switch {
    fn kind(&self) -> &'static str {
        "switch"
    }

    fn ports(&self) -> usize {
        self.ports.len()
    }

    fn offer(&mut self, now: Moment, port: usize, frame: Frame, out: &mut Vec<Exit>) {
        if port >= self.ports.len() {
            return;
        }
        self.advance(now, out);
        self.counters.offered.count(&frame);
        if let Some(quanta) = frame.pause {
            if let SwitchPort::Line(line) = &mut self.ports[port] {
                line.pause(now, quanta);
            }
            return self.counters.drop(&frame, DropReason::Obeyed);
        }
        let due = now + self.behaviour.latency;
        self.inside.push_back((due, port, frame));
        self.advance(now, out);
    }

    fn next_event(&self) -> Option<Moment> {
        let lines = self.ports.iter().filter_map(|port| match port {
            SwitchPort::Line(line) => line.next_event(),
            SwitchPort::Through => None,
        });
        lines.chain(self.inside.front().map(|(due, ..)| *due)).min()
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Exit>) {
        while let Some(at) = self.next_event().filter(|at| *at <= now) {
            for port in 0..self.ports.len() {
                if let SwitchPort::Line(line) = &mut self.ports[port] {
                    line.advance(at, &mut self.scratch);
                    self.exit(port, out);
                }
            }
            self.go_on(at, out);
            while self.inside.front().is_some_and(|(due, ..)| *due <= at)
                && let Some((_, from, frame)) = self.inside.pop_front()
            {
                self.forward(at, from, frame, out);
            }
        }
    }

    fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        for port in &self.ports {
            if let SwitchPort::Line(line) = port {
                counters.take_in(&line.counters());
            }
        }
        counters
    }

    fn held(&self) -> Traffic {
        let mut held = Traffic::of(self.inside.iter().map(|(.., frame)| frame));
        for port in &self.ports {
            if let SwitchPort::Line(line) = port {
                held += line.held();
            }
        }
        held
    }

    /// With a part for every port that has a line, in their order.
    fn report(&self, now: Moment) -> Report {
        let lines = self.ports.iter().filter_map(|port| match port {
            SwitchPort::Line(line) => Some(line.report(now)),
            SwitchPort::Through => None,
        });
        Report {
            parts: lines.collect(),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }

    /// Changes the line out of `port`.
    fn set(&mut self, now: Moment, port: usize, setting: Setting) -> Result<bool, LinkError> {
        match self.ports.get_mut(port) {
            Some(SwitchPort::Line(line)) => line.set(now, setting),
            _ => Ok(false),
        }
    }
}
