//! Media: construction, counters, the event loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use caudal_topology::{LateCollision, StationDuplex};

use super::station::{MediumEvent, MediumSetup, Signal, Station, StationSetup};
use crate::counters::{FrameCounters, FrameTotals};
use crate::error::LinkError;
use crate::frame::Frame;
use crate::histogram::DurationHistogram;
use crate::node::{Egress, NetworkNode};
use crate::random::Rng;
use crate::report::{Collisions, ComponentReport};
use crate::time::{SimTime, duration_to_ns};

/// Maximum rate: above it half duplex needs carrier extension, which is not implemented.
const MAX_BPS: u64 = 100_000_000;

/// A shared medium: a hub, a coaxial cable, or a half-duplex link between two ports.
///
/// Its stations follow the MAC of IEEE 802.3 clause 4, in whole nanoseconds. Port i is station i: a frame offered there
/// waits in the station's queue; every other station that receives it undisturbed delivers it at its port.
#[derive(Debug)]
pub struct Medium {
    pub(super) bit_ns: u64,
    pub(super) repeater_ns: u64,
    pub(super) late_collision: LateCollision,
    pub(super) stations: Vec<Station>,
    /// Signals on the medium; free slots are reused.
    pub(super) signals: Vec<Option<Signal>>,
    pub(super) events: BinaryHeap<Reverse<(SimTime, MediumEvent)>>,
    now: SimTime,
    pub(super) rng: Rng,
}

impl Medium {
    /// An idle medium.
    ///
    /// # Errors
    /// With fewer than two stations, a full-duplex one among more than two, or a rate without half-duplex Ethernet.
    pub fn new(
        setup: MediumSetup,
        stations: Vec<StationSetup>,
        rng: Rng,
    ) -> Result<Self, LinkError> {
        let bps = setup.rate.bps();
        if bps == 0 || bps > MAX_BPS || 1_000_000_000 % bps != 0 {
            return Err(LinkError::NotHalfDuplex(setup.rate));
        }
        if stations.len() < 2 {
            return Err(LinkError::TooFewPorts(stations.len()));
        }
        let full = stations
            .iter()
            .any(|station| station.duplex == StationDuplex::Full);
        if full && stations.len() > 2 {
            return Err(LinkError::FullDuplexAmongMany(stations.len()));
        }
        Ok(Self {
            bit_ns: 1_000_000_000 / bps,
            repeater_ns: duration_to_ns(setup.repeater_delay),
            late_collision: setup.late_collision,
            stations: stations.into_iter().map(Station::new).collect(),
            signals: Vec::new(),
            events: BinaryHeap::new(),
            now: SimTime::START,
            rng,
        })
    }

    /// The collision counters of station `port`.
    #[must_use]
    pub fn collisions(&self, port: usize) -> Option<Collisions> {
        self.stations.get(port).map(|station| station.collisions)
    }

    /// The frames that station `port` sent without a collision.
    #[must_use]
    pub fn sent(&self, port: usize) -> Option<FrameTotals> {
        self.stations.get(port).map(|station| station.sent)
    }

    /// The time that frames waited at station `port`, from queueing to the start of the successful attempt.
    #[must_use]
    pub fn waiting(&self, port: usize) -> Option<&DurationHistogram> {
        self.stations.get(port).map(|station| &station.waiting)
    }

    /// The time for which preambles and frames without a collision were sent, by all stations together.
    #[must_use]
    pub fn busy(&self) -> Duration {
        let sent = self.stations.iter().map(|station| station.sent_ns);
        Duration::from_nanos(sent.sum())
    }
}

impl NetworkNode for Medium {
    fn kind(&self) -> &'static str {
        "medium"
    }

    fn ports(&self) -> usize {
        self.stations.len()
    }

    fn offer(&mut self, now: SimTime, port: usize, frame: Frame, out: &mut Vec<Egress>) {
        self.advance(now, out);
        let now = self.now;
        let Some(station) = self.stations.get_mut(port) else {
            return;
        };
        station.counters.offered.add(&frame);
        station.queue.enqueue(now, frame, &mut station.counters);
        self.try_send(now, port);
    }

    fn next_event(&self) -> Option<SimTime> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn advance(&mut self, now: SimTime, out: &mut Vec<Egress>) {
        while self.next_event().is_some_and(|at| at <= now)
            && let Some(Reverse((at, event))) = self.events.pop()
        {
            self.now = at;
            self.process(at, event, out);
        }
        self.now = self.now.max(now);
    }

    fn counters(&self) -> FrameCounters {
        let mut counters = FrameCounters::default();
        for station in &self.stations {
            counters.offered += station.counters.offered;
            counters.delivered += station.counters.delivered;
            counters.merge_inner(&station.counters);
        }
        counters
    }

    /// Frames that wait or are being sent, and copies on their way to receivers.
    fn held(&self) -> FrameTotals {
        let mut held = FrameTotals::default();
        for station in &self.stations {
            held += station.held();
        }
        // Frames being sent are counted at their station.
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
                for _ in 0..signal.remaining {
                    held.add(&signal.frame);
                }
            }
        }
        held
    }

    /// With a part for every station, in the order of the ports.
    ///
    /// The counters of one station are not balanced: the frames offered to it are delivered by the others.
    fn report(&self, now: SimTime) -> ComponentReport {
        let stations = self.stations.iter().map(|station| {
            let mut queue = station.queue.report(now);
            queue.waiting = station.waiting.summary();
            ComponentReport {
                queue: Some(queue),
                collisions: Some(station.collisions),
                ..ComponentReport::new("station", station.counters.clone(), station.held())
            }
        });
        ComponentReport {
            parts: stations.collect(),
            ..ComponentReport::new(self.kind(), self.counters(), self.held())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Queue;
    use caudal_core::units::BitRate;
    use caudal_topology::{QueueLimit, Readiness};

    #[test]
    fn rates_and_stations_outside_of_half_duplex_ethernet_are_refused() {
        let station = |duplex| StationSetup {
            duplex,
            delay: Duration::ZERO,
            readiness: Readiness::default(),
            queue: Queue::drop_tail(QueueLimit::None),
        };
        let made = |bps, duplex: &[StationDuplex]| {
            let setup = MediumSetup {
                rate: BitRate::from_bps(bps),
                repeater_delay: Duration::ZERO,
                late_collision: LateCollision::Drop,
            };
            let stations = duplex.iter().copied().map(station).collect();
            Medium::new(setup, stations, Rng::new(0, 0)).map(drop)
        };
        use StationDuplex::{Full, Half};
        for bps in [0, 3, 1_000_000_000] {
            let refused = Err(LinkError::NotHalfDuplex(BitRate::from_bps(bps)));
            assert_eq!(made(bps, &[Half, Half]), refused);
        }
        assert_eq!(made(10_000_000, &[Half]), Err(LinkError::TooFewPorts(1)));
        let three = made(10_000_000, &[Half, Full, Half]);
        assert_eq!(three, Err(LinkError::FullDuplexAmongMany(3)));
        assert_eq!(made(10_000_000, &[Half, Full]), Ok(()));
    }
}
