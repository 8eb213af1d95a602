//! A shared medium and its half-duplex stations: carrier sense, collision, backoff.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use caudal_core::units::BitRate;

use crate::counters::{Collisions, Counters, DropReason, Report, Traffic};
use crate::dice::Dice;
use crate::error::LinkError;
use crate::frame::{Frame, PREAMBLE_BYTES};
use crate::moment::{Moment, whole_ns};
use crate::node::{Exit, Node};
use crate::queue::Queue;
use crate::waiting::Waiting;

/// Parameters of IEEE 802.3 clause 4.4.2 for 10 and 100 Mbit/s, in bit times.
mod bits {
    pub(super) const SLOT: u64 = 512;
    pub(super) const GAP: u64 = 96;
    /// A carrier in this first part of the gap starts it anew; later it is ignored (clause 4.2.3.2.1).
    pub(super) const GAP_FIRST_PART: u64 = 64;
    pub(super) const JAM: u64 = 32;
}
/// Collisions after which a frame is given up.
const ATTEMPTS: u32 = 16;
/// Collisions after which the range of the backoff grows no further.
const BACKOFF_LIMIT: u32 = 10;
/// Above this half duplex needs carrier extension, which is not built.
const HIGHEST: u64 = 100_000_000;

/// How a station uses its link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplex {
    /// Senses the carrier, detects collisions, backs off.
    Half,
    /// Sends and receives at once and listens to no carrier; against a half-duplex station this is a mismatch.
    Full,
}

/// What a half-duplex station does with a frame that collided after the slot time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateCollision {
    /// Gives it up, as most hardware does.
    Drop,
    /// Tries again as after any collision, which the standard allows.
    Retry,
}

/// A station to be.
#[derive(Debug)]
pub struct StationSetup {
    /// How it uses its link.
    pub duplex: Duplex,
    /// From the station to the middle of the medium, where all meet.
    pub distance: Duration,
    /// What waits to be sent.
    pub queue: Queue,
}

/// What all stations of a medium have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediumSetup {
    /// 100 Mbit/s or less, with a whole number of nanoseconds a bit.
    pub rate: BitRate,
    /// What the middle adds to the way between two stations: a repeater's delay.
    pub repeater: Duration,
    /// What becomes of late collisions.
    pub late: LateCollision,
}

#[derive(Debug)]
struct Sending {
    signal: usize,
    start: Moment,
    end: Moment,
    collided: bool,
    late: bool,
}

#[derive(Debug)]
struct Station {
    duplex: Duplex,
    distance: u64,
    queue: Queue,
    /// The frame whose turn it is, and when it came.
    head: Option<(Moment, Frame)>,
    attempts: u32,
    backing_off: bool,
    /// Waits for the end of a carrier or of the gap behind it.
    deferring: bool,
    gap_since: Option<Moment>,
    gap_turn: u64,
    sending: Option<Sending>,
    send_turn: u64,
    /// Signals of others here at this moment.
    carriers: u32,
    /// The signal that has been alone here since its begin.
    clean: Option<usize>,
    counters: Counters,
    collisions: Collisions,
    waits: Waiting,
    sent: Traffic,
    sent_ns: u64,
}

/// A signal on its way to the other stations.
#[derive(Debug)]
struct Signal {
    frame: Frame,
    truncated: bool,
    /// Stations it has not ended at.
    left: usize,
}

/// In this order when they fall on one moment: ends before begins, and those that begin to send at once do not hear each
/// other in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    SendEnd { station: usize, turn: u64 },
    CarrierOff { station: usize, signal: usize },
    GapEnd { station: usize, turn: u64 },
    BackoffEnd { station: usize },
    CarrierOn { station: usize, signal: usize },
}

/// Stations that hear one another: a hub, a coaxial cable, or a half-duplex link between two ports.
///
/// The MAC of IEEE 802.3 clause 4 in whole nanoseconds. Port i is station i: a frame offered there waits in the station's
/// queue; every other station that receives it undisturbed delivers it at its port.
#[derive(Debug)]
pub struct Medium {
    bit_ns: u64,
    repeater: u64,
    late: LateCollision,
    stations: Vec<Station>,
    signals: Vec<Option<Signal>>,
    events: BinaryHeap<Reverse<(Moment, Event)>>,
    now: Moment,
    dice: Dice,
}

impl Medium {
    /// A silent medium.
    ///
    /// # Errors
    /// With fewer than two stations, a full-duplex one among more than two, or a rate that is no half-duplex Ethernet's.
    pub fn new(
        setup: MediumSetup,
        stations: Vec<StationSetup>,
        dice: Dice,
    ) -> Result<Self, LinkError> {
        let bps = setup.rate.bps();
        if bps == 0 || bps > HIGHEST || 1_000_000_000 % bps != 0 {
            return Err(LinkError::NoHalfDuplex(setup.rate));
        }
        if stations.len() < 2 {
            return Err(LinkError::TooFewPorts(stations.len()));
        }
        let full = stations
            .iter()
            .any(|station| station.duplex == Duplex::Full);
        if full && stations.len() > 2 {
            return Err(LinkError::FullDuplexOfMany(stations.len()));
        }
        Ok(Self {
            bit_ns: 1_000_000_000 / bps,
            repeater: whole_ns(setup.repeater),
            late: setup.late,
            stations: stations.into_iter().map(Station::new).collect(),
            signals: Vec::new(),
            events: BinaryHeap::new(),
            now: Moment::START,
            dice,
        })
    }

    /// What station `port` counted.
    #[must_use]
    pub fn collisions(&self, port: usize) -> Option<Collisions> {
        self.stations.get(port).map(|station| station.collisions)
    }

    /// What station `port` sent without a collision.
    #[must_use]
    pub fn sent(&self, port: usize) -> Option<Traffic> {
        self.stations.get(port).map(|station| station.sent)
    }

    /// How long frames waited at station `port`, from their coming to the begin of the attempt that succeeded.
    #[must_use]
    pub fn waiting(&self, port: usize) -> Option<&Waiting> {
        self.stations.get(port).map(|station| &station.waits)
    }

    /// The time preambles and frames without a collision were on the medium, all stations together.
    #[must_use]
    pub fn busy(&self) -> Duration {
        let sent = self.stations.iter().map(|station| station.sent_ns);
        Duration::from_nanos(sent.sum())
    }

    fn ns(&self, bits: u64) -> u64 {
        bits * self.bit_ns
    }

    fn schedule(&mut self, at: Moment, event: Event) {
        self.events.push(Reverse((at, event)));
    }

    /// When a signal that leaves `from` now is at `to`.
    fn reaches(&self, now: Moment, from: usize, to: usize) -> Moment {
        let way = [
            self.stations[from].distance,
            self.repeater,
            self.stations[to].distance,
        ];
        way.into_iter().fold(now, Moment::plus_ns)
    }

    fn others(&self, station: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.stations.len()).filter(move |other| *other != station)
    }

    fn take_turn(&mut self, now: Moment, index: usize) {
        let station = &mut self.stations[index];
        if station.head.is_none() {
            station.head = station.queue.pop(now, &mut station.counters);
            station.attempts = 0;
            if station.head.is_some() && station.carriers > 0 && station.duplex == Duplex::Half {
                station.collisions.deferred += 1;
            }
        }
        if station.head.is_some()
            && !station.backing_off
            && !station.deferring
            && station.sending.is_none()
        {
            self.send(now, index);
        }
    }

    fn send(&mut self, now: Moment, index: usize) {
        let Some((_, frame)) = &self.stations[index].head else {
            return;
        };
        let signal = Signal {
            frame: frame.clone(),
            truncated: false,
            left: self.stations.len() - 1,
        };
        let end = now.plus_ns(self.ns(frame.sent_bits()));
        let slot = match self.signals.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.signals.push(None);
                self.signals.len() - 1
            }
        };
        self.signals[slot] = Some(signal);
        let station = &mut self.stations[index];
        station.sending = Some(Sending {
            signal: slot,
            start: now,
            end,
            collided: false,
            late: false,
        });
        station.send_turn += 1;
        let turn = station.send_turn;
        station.deferring = true;
        let overlaps = station.duplex == Duplex::Half && station.carriers > 0;
        if station.duplex == Duplex::Half {
            station.clean = None;
        }
        let station = index;
        self.schedule(end, Event::SendEnd { station, turn });
        for station in self.others(index) {
            let at = self.reaches(now, index, station);
            let signal = slot;
            self.schedule(at, Event::CarrierOn { station, signal });
        }
        if overlaps {
            self.collide(now, index);
        }
    }

    /// The station that sends hears another: it jams and stops.
    fn collide(&mut self, now: Moment, index: usize) {
        let (slot, preamble, jam) = (
            self.ns(bits::SLOT),
            self.ns(u64::from(PREAMBLE_BYTES) * 8),
            self.ns(bits::JAM),
        );
        let station = &mut self.stations[index];
        let Some(sending) = station
            .sending
            .as_mut()
            .filter(|sending| !sending.collided && now < sending.end)
        else {
            return;
        };
        sending.collided = true;
        sending.late = now.ns_since(sending.start) > slot;
        sending.end = now.max(sending.start.plus_ns(preamble)).plus_ns(jam);
        station.collisions.all += 1;
        station.collisions.late += u64::from(sending.late);
        station.send_turn += 1;
        let (end, turn, signal) = (sending.end, station.send_turn, sending.signal);
        if let Some(signal) = &mut self.signals[signal] {
            signal.truncated = true;
        }
        let station = index;
        self.schedule(end, Event::SendEnd { station, turn });
    }

    fn send_end(&mut self, now: Moment, index: usize) {
        let Some(sending) = self.stations[index].sending.take() else {
            return;
        };
        if sending.collided {
            self.after_collision(now, index, sending.late);
        } else {
            self.after_success(index, &sending);
        }
        for station in self.others(index) {
            let at = self.reaches(now, index, station);
            let signal = sending.signal;
            self.schedule(at, Event::CarrierOff { station, signal });
        }
        let station = &self.stations[index];
        if station.duplex == Duplex::Full || station.carriers == 0 {
            self.begin_gap(now, index);
        }
        self.take_turn(now, index);
    }

    fn after_success(&mut self, index: usize, sending: &Sending) {
        let copies = self.stations.len() - 2;
        let station = &mut self.stations[index];
        let Some((came, frame)) = station.head.take() else {
            return;
        };
        match station.attempts {
            0 => {}
            1 => station.collisions.single += 1,
            _ => station.collisions.multiple += 1,
        }
        station.waits.record(sending.start.ns_since(came));
        station.sent.count(&frame);
        station.sent_ns += sending.end.ns_since(sending.start);
        for _ in 0..copies {
            station.counters.added.count(&frame);
        }
    }

    fn after_collision(&mut self, now: Moment, index: usize, late: bool) {
        let give_up_late = late && self.late == LateCollision::Drop;
        let station = &mut self.stations[index];
        station.attempts += 1;
        let reason = if give_up_late {
            Some(DropReason::LateCollision)
        } else if station.attempts >= ATTEMPTS {
            station.collisions.excessive += 1;
            Some(DropReason::ExcessiveCollisions)
        } else {
            None
        };
        if let Some(reason) = reason {
            if let Some((_, frame)) = station.head.take() {
                station.counters.drop(&frame, reason);
            }
            return;
        }
        station.backing_off = true;
        let slots = backoff(station.attempts, &mut self.dice);
        let at = now.plus_ns(self.ns(slots * bits::SLOT));
        self.schedule(at, Event::BackoffEnd { station: index });
    }

    fn begin_gap(&mut self, now: Moment, index: usize) {
        let end = now.plus_ns(self.ns(bits::GAP));
        let station = &mut self.stations[index];
        station.deferring = true;
        station.gap_since = Some(now);
        station.gap_turn += 1;
        let turn = station.gap_turn;
        let station = index;
        self.schedule(end, Event::GapEnd { station, turn });
    }

    fn gap_end(&mut self, now: Moment, index: usize) {
        let station = &mut self.stations[index];
        station.gap_since = None;
        station.deferring = false;
        self.take_turn(now, index);
        let station = &mut self.stations[index];
        if station.duplex == Duplex::Half && station.carriers > 0 {
            station.deferring = true;
        }
    }

    fn carrier_on(&mut self, now: Moment, index: usize, signal: usize) {
        let first_part = self.ns(bits::GAP_FIRST_PART);
        let station = &mut self.stations[index];
        station.carriers += 1;
        let alone = station.carriers == 1;
        if station.duplex == Duplex::Full {
            station.clean = alone.then_some(signal);
            return;
        }
        if station.sending.is_some() {
            station.clean = None;
            return self.collide(now, index);
        }
        station.clean = alone.then_some(signal);
        station.deferring = true;
        let early = |since: &mut Moment| now.ns_since(*since) < first_part;
        if station.gap_since.take_if(early).is_some() {
            station.gap_turn += 1;
        }
    }

    fn carrier_off(&mut self, now: Moment, index: usize, slot: usize, out: &mut Vec<Exit>) {
        let Some(signal) = &mut self.signals[slot] else {
            return;
        };
        let station = &mut self.stations[index];
        station.carriers = station.carriers.saturating_sub(1);
        let undisturbed = station.clean.take_if(|clean| *clean == slot).is_some();
        if signal.truncated {
            station.collisions.fragments += 1;
        } else if undisturbed {
            station.counters.delivered.count(&signal.frame);
            out.push(Exit {
                at: now,
                port: index,
                frame: signal.frame.clone(),
            });
        } else {
            station.counters.drop(&signal.frame, DropReason::Spoiled);
        }
        signal.left -= 1;
        if signal.left == 0 {
            self.signals[slot] = None;
        }
        let station = &self.stations[index];
        if station.duplex == Duplex::Half && station.carriers == 0 && station.sending.is_none() {
            self.begin_gap(now, index);
        }
    }

    fn happen(&mut self, now: Moment, event: Event, out: &mut Vec<Exit>) {
        match event {
            Event::SendEnd { station, turn } => {
                if self.stations[station].send_turn == turn {
                    self.send_end(now, station);
                }
            }
            Event::CarrierOff { station, signal } => self.carrier_off(now, station, signal, out),
            Event::GapEnd { station, turn } => {
                if self.stations[station].gap_turn == turn {
                    self.gap_end(now, station);
                }
            }
            Event::BackoffEnd { station } => {
                self.stations[station].backing_off = false;
                self.take_turn(now, station);
            }
            Event::CarrierOn { station, signal } => self.carrier_on(now, station, signal),
        }
    }
}

/// Slots to wait after the `collisions`-th collision of a frame: below 2^`collisions`, at most below 1024.
fn backoff(collisions: u32, dice: &mut Dice) -> u64 {
    dice.below(1 << collisions.min(BACKOFF_LIMIT))
}

impl Station {
    fn new(setup: StationSetup) -> Self {
        Self {
            duplex: setup.duplex,
            distance: whole_ns(setup.distance),
            queue: setup.queue,
            head: None,
            attempts: 0,
            backing_off: false,
            deferring: false,
            gap_since: None,
            gap_turn: 0,
            sending: None,
            send_turn: 0,
            carriers: 0,
            clean: None,
            counters: Counters::default(),
            collisions: Collisions::default(),
            waits: Waiting::default(),
            sent: Traffic::default(),
            sent_ns: 0,
        }
    }

    fn held(&self) -> Traffic {
        let mut held = self.queue.held();
        held += Traffic::of(self.head.as_ref().map(|(_, frame)| frame));
        held
    }
}

impl Node for Medium {
    fn kind(&self) -> &'static str {
        "medium"
    }

    fn ports(&self) -> usize {
        self.stations.len()
    }

    fn offer(&mut self, now: Moment, port: usize, frame: Frame, out: &mut Vec<Exit>) {
        self.advance(now, out);
        let now = self.now;
        let Some(station) = self.stations.get_mut(port) else {
            return;
        };
        station.counters.offered.count(&frame);
        station.queue.push(now, frame, &mut station.counters);
        self.take_turn(now, port);
    }

    fn next_event(&self) -> Option<Moment> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, now: Moment, out: &mut Vec<Exit>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(Reverse((at, event))) = self.events.pop()
        {
            self.now = at;
            self.happen(at, event, out);
        }
        self.now = self.now.max(now);
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::default();
        for station in &self.stations {
            counters.offered += station.counters.offered;
            counters.delivered += station.counters.delivered;
            counters.take_in(&station.counters);
        }
        counters
    }

    /// Frames that wait or are being sent, and the copies still on their way.
    fn held(&self) -> Traffic {
        let mut held = Traffic::default();
        for station in &self.stations {
            held += station.held();
        }
        let sending: Vec<usize> = self
            .stations
            .iter()
            .filter_map(|station| station.sending.as_ref().map(|sending| sending.signal))
            .collect();
        for (slot, signal) in self.signals.iter().enumerate() {
            if let Some(signal) = signal
                && !signal.truncated
                && !sending.contains(&slot)
            {
                for _ in 0..signal.left {
                    held.count(&signal.frame);
                }
            }
        }
        held
    }

    /// With a part for every station, in the order of the ports. A station's own counters do not balance: what one is
    /// offered, the others deliver.
    fn report(&self, now: Moment) -> Report {
        let stations = self.stations.iter().map(|station| {
            let mut queue = station.queue.report(now);
            queue.waiting = station.waits.clone();
            Report {
                queue: Some(queue),
                collisions: Some(station.collisions),
                ..Report::of("station", station.counters.clone(), station.held())
            }
        });
        Report {
            parts: stations.collect(),
            ..Report::of(self.kind(), self.counters(), self.held())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_on_average_until_the_tenth_collision() {
        const DRAWS: u64 = 20_000;
        let mut dice = Dice::new(1, 0);
        for collisions in 1..ATTEMPTS {
            let slots: Vec<u64> = (0..DRAWS).map(|_| backoff(collisions, &mut dice)).collect();
            let range = f64::from(1 << collisions.min(BACKOFF_LIMIT));
            let mean = slots.iter().sum::<u64>() as f64 / DRAWS as f64;
            // Four standard errors of the mean of numbers below the range, each as likely.
            let error = 4.0 * ((range * range - 1.0) / 12.0 / DRAWS as f64).sqrt();
            assert!(
                (mean - (range - 1.0) / 2.0).abs() < error,
                "{collisions}: {mean}"
            );
            assert!(slots.iter().all(|slots| (*slots as f64) < range));
        }
    }

    #[test]
    fn rates_and_stations_that_are_no_half_duplex_ethernet_are_refused() {
        let station = |duplex| StationSetup {
            duplex,
            distance: Duration::ZERO,
            queue: Queue::drop_tail(crate::queue::Limit::None),
        };
        let made = |bps, duplex: &[Duplex]| {
            let setup = MediumSetup {
                rate: BitRate::from_bps(bps),
                repeater: Duration::ZERO,
                late: LateCollision::Drop,
            };
            let stations = duplex.iter().copied().map(station).collect();
            Medium::new(setup, stations, Dice::new(0, 0)).map(drop)
        };
        use Duplex::{Full, Half};
        for bps in [0, 3, 1_000_000_000] {
            let refused = Err(LinkError::NoHalfDuplex(BitRate::from_bps(bps)));
            assert_eq!(made(bps, &[Half, Half]), refused);
        }
        assert_eq!(made(10_000_000, &[Half]), Err(LinkError::TooFewPorts(1)));
        let three = made(10_000_000, &[Half, Full, Half]);
        assert_eq!(three, Err(LinkError::FullDuplexOfMany(3)));
        assert_eq!(made(10_000_000, &[Half, Full]), Ok(()));
    }
}
