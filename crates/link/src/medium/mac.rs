//! The MAC of half-duplex Ethernet: the transitions of a station's state (IEEE 802.3 clause 4).

use std::cmp::Reverse;

use caudal_topology::{LateCollision, Readiness};

use super::shared::Medium;
use super::station::{MediumEvent, Signal, Transmission};
use crate::counters::DropReason;
use crate::frame::PREAMBLE_BYTES;
use crate::node::Egress;
use crate::random::Rng;
use crate::time::SimTime;

/// Parameters of IEEE 802.3 clause 4.4.2 for 10 and 100 Mbit/s, in bit times.
mod bits {
    pub(super) const SLOT: u64 = 512;
    pub(super) const GAP: u64 = 96;
    /// A carrier in this first part of the gap restarts it; later it is ignored (clause 4.2.3.2.1).
    pub(super) const GAP_FIRST_PART: u64 = 64;
    pub(super) const JAM: u64 = 32;
}
/// Maximum collisions of a frame before it is dropped.
const MAX_ATTEMPTS: u32 = 16;
/// Maximum collisions for which the range of the backoff grows.
const MAX_BACKOFF_EXPONENT: u32 = 10;

impl Medium {
    fn bit_times(&self, bits: u64) -> u64 {
        bits * self.bit_ns
    }

    fn schedule(&mut self, at: SimTime, event: MediumEvent) {
        self.events.push(Reverse((at, event)));
    }

    /// The time at which a signal that leaves `from` at `now` reaches `to`.
    fn arrival(&self, now: SimTime, from: usize, to: usize) -> SimTime {
        let delays = [
            self.stations[from].delay_ns,
            self.repeater_ns,
            self.stations[to].delay_ns,
        ];
        delays.into_iter().fold(now, SimTime::plus_ns)
    }

    fn others(&self, station: usize) -> impl Iterator<Item = usize> + use<> {
        (0..self.stations.len()).filter(move |other| *other != station)
    }

    /// Sends the next frame of a station unless something keeps it from sending.
    pub(super) fn try_send(&mut self, now: SimTime, index: usize) {
        let station = &mut self.stations[index];
        if station.head.is_none() {
            station.head = station.queue.dequeue(now, &mut station.counters);
            station.attempts = 0;
            if station.head.is_some() && station.carriers > 0 && station.is_half_duplex() {
                station.collisions.deferred += 1;
            }
        }
        if station.head.is_some()
            && !station.backing_off
            && !station.preparing
            && !station.deferring
            && station.sending.is_none()
        {
            self.send(now, index);
        }
    }

    fn send(&mut self, now: SimTime, index: usize) {
        let Some((_, frame)) = &self.stations[index].head else {
            return;
        };
        let signal = Signal {
            frame: frame.clone(),
            truncated: false,
            remaining: self.stations.len() - 1,
        };
        let end = now.plus_ns(self.bit_times(frame.wire_bits()));
        let slot = match self.signals.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.signals.push(None);
                self.signals.len() - 1
            }
        };
        self.signals[slot] = Some(signal);
        let station = &mut self.stations[index];
        station.sending = Some(Transmission {
            signal: slot,
            start: now,
            end,
            collided: false,
            collided_late: false,
        });
        station.send_serial += 1;
        let serial = station.send_serial;
        station.deferring = true;
        let overlaps = station.is_half_duplex() && station.carriers > 0;
        if station.is_half_duplex() {
            station.undisturbed = None;
        }
        let station = index;
        self.schedule(end, MediumEvent::SendEnd { station, serial });
        for station in self.others(index) {
            let at = self.arrival(now, index, station);
            let signal = slot;
            self.schedule(at, MediumEvent::CarrierOn { station, signal });
        }
        if overlaps {
            self.collide(now, index);
        }
    }

    /// A sending station senses another signal: it jams and stops.
    fn collide(&mut self, now: SimTime, index: usize) {
        let (slot, preamble, jam) = (
            self.bit_times(bits::SLOT),
            self.bit_times(u64::from(PREAMBLE_BYTES) * 8),
            self.bit_times(bits::JAM),
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
        sending.collided_late = now.ns_since(sending.start) > slot;
        sending.end = now.max(sending.start.plus_ns(preamble)).plus_ns(jam);
        station.collisions.all += 1;
        station.collisions.late += u64::from(sending.collided_late);
        station.send_serial += 1;
        let (end, serial, signal) = (sending.end, station.send_serial, sending.signal);
        if let Some(signal) = &mut self.signals[signal] {
            signal.truncated = true;
        }
        let station = index;
        self.schedule(end, MediumEvent::SendEnd { station, serial });
    }

    fn send_end(&mut self, now: SimTime, index: usize) {
        let Some(sending) = self.stations[index].sending.take() else {
            return;
        };
        if sending.collided {
            self.after_collision(now, index, sending.collided_late);
        } else {
            self.after_success(index, &sending);
            self.prepare(now, index);
        }
        for station in self.others(index) {
            let at = self.arrival(now, index, station);
            let signal = sending.signal;
            self.schedule(at, MediumEvent::CarrierOff { station, signal });
        }
        let station = &self.stations[index];
        if !station.is_half_duplex() || station.carriers == 0 {
            self.start_gap(now, index);
        }
        self.try_send(now, index);
    }

    fn after_success(&mut self, index: usize, sending: &Transmission) {
        let copies = self.stations.len() - 2;
        let station = &mut self.stations[index];
        let Some((queued, frame)) = station.head.take() else {
            return;
        };
        match station.attempts {
            0 => {}
            1 => station.collisions.single += 1,
            _ => station.collisions.multiple += 1,
        }
        station.waiting.record(sending.start.ns_since(queued));
        station.sent.add(&frame);
        station.sent_ns += sending.end.ns_since(sending.start);
        for _ in 0..copies {
            station.counters.added.add(&frame);
        }
    }

    /// Keeps a station that has sent a frame from the medium until it is ready for the next.
    fn prepare(&mut self, now: SimTime, index: usize) {
        let readiness = self.stations[index].readiness;
        if readiness == Readiness::default() || !self.stations[index].is_half_duplex() {
            return;
        }
        let random = self.rng.below(u64::from(readiness.random_bits) + 1);
        let bits = u64::from(readiness.constant_bits) + random;
        self.stations[index].preparing = true;
        let at = now.plus_ns(self.bit_times(bits));
        self.schedule(at, MediumEvent::Ready { station: index });
    }

    fn after_collision(&mut self, now: SimTime, index: usize, is_late: bool) {
        let drop_late = is_late && self.late_collision == LateCollision::Drop;
        let station = &mut self.stations[index];
        station.attempts += 1;
        let reason = if drop_late {
            Some(DropReason::LateCollision)
        } else if station.attempts >= MAX_ATTEMPTS {
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
        let slots = backoff_slots(station.attempts, &mut self.rng);
        let at = now.plus_ns(self.bit_times(slots * bits::SLOT));
        self.schedule(at, MediumEvent::BackoffEnd { station: index });
    }

    fn start_gap(&mut self, now: SimTime, index: usize) {
        let end = now.plus_ns(self.bit_times(bits::GAP));
        let station = &mut self.stations[index];
        station.deferring = true;
        station.gap_since = Some(now);
        station.gap_serial += 1;
        let serial = station.gap_serial;
        let station = index;
        self.schedule(end, MediumEvent::GapEnd { station, serial });
    }

    fn gap_end(&mut self, now: SimTime, index: usize) {
        let station = &mut self.stations[index];
        station.gap_since = None;
        station.deferring = false;
        self.try_send(now, index);
        let station = &mut self.stations[index];
        if station.is_half_duplex() && station.carriers > 0 {
            station.deferring = true;
        }
    }

    fn carrier_on(&mut self, now: SimTime, index: usize, signal: usize) {
        let first_part = self.bit_times(bits::GAP_FIRST_PART);
        let station = &mut self.stations[index];
        station.carriers += 1;
        let is_alone = station.carriers == 1;
        if !station.is_half_duplex() {
            station.undisturbed = is_alone.then_some(signal);
            return;
        }
        if station.sending.is_some() {
            station.undisturbed = None;
            return self.collide(now, index);
        }
        station.undisturbed = is_alone.then_some(signal);
        station.deferring = true;
        let is_early = |since: &mut SimTime| now.ns_since(*since) < first_part;
        if station.gap_since.take_if(is_early).is_some() {
            station.gap_serial += 1;
        }
    }

    fn carrier_off(&mut self, now: SimTime, index: usize, slot: usize, out: &mut Vec<Egress>) {
        let Some(signal) = &mut self.signals[slot] else {
            return;
        };
        let station = &mut self.stations[index];
        station.carriers = station.carriers.saturating_sub(1);
        let was_undisturbed = station
            .undisturbed
            .take_if(|signal| *signal == slot)
            .is_some();
        if signal.truncated {
            station.collisions.fragments += 1;
        } else if was_undisturbed {
            station.counters.delivered.add(&signal.frame);
            out.push(Egress {
                at: now,
                port: index,
                frame: signal.frame.clone(),
            });
        } else {
            station
                .counters
                .drop(&signal.frame, DropReason::UndetectedCollision);
        }
        signal.remaining -= 1;
        if signal.remaining == 0 {
            self.signals[slot] = None;
        }
        let station = &self.stations[index];
        if station.is_half_duplex() && station.carriers == 0 && station.sending.is_none() {
            self.start_gap(now, index);
        }
    }

    /// Processes `event` at its time `now`.
    pub(super) fn process(&mut self, now: SimTime, event: MediumEvent, out: &mut Vec<Egress>) {
        match event {
            MediumEvent::SendEnd { station, serial } => {
                if self.stations[station].send_serial == serial {
                    self.send_end(now, station);
                }
            }
            MediumEvent::CarrierOff { station, signal } => {
                self.carrier_off(now, station, signal, out);
            }
            MediumEvent::GapEnd { station, serial } => {
                if self.stations[station].gap_serial == serial {
                    self.gap_end(now, station);
                }
            }
            MediumEvent::BackoffEnd { station } => {
                self.stations[station].backing_off = false;
                self.try_send(now, station);
            }
            MediumEvent::Ready { station } => {
                self.stations[station].preparing = false;
                self.try_send(now, station);
            }
            MediumEvent::CarrierOn { station, signal } => self.carrier_on(now, station, signal),
        }
    }
}

/// The backoff in slots after collision `collisions` of a frame: uniform below 2^`collisions`, at most below 1024.
fn backoff_slots(collisions: u32, rng: &mut Rng) -> u64 {
    rng.below(1 << collisions.min(MAX_BACKOFF_EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_backoff_doubles_until_the_tenth_collision() {
        const DRAWS: u64 = 20_000;
        let mut rng = Rng::new(1, 0);
        for collisions in 1..MAX_ATTEMPTS {
            let slots: Vec<u64> = (0..DRAWS)
                .map(|_| backoff_slots(collisions, &mut rng))
                .collect();
            let range = f64::from(1 << collisions.min(MAX_BACKOFF_EXPONENT));
            let mean = slots.iter().sum::<u64>() as f64 / DRAWS as f64;
            // Four standard errors of the mean of uniform integers below the range.
            let error = 4.0 * ((range * range - 1.0) / 12.0 / DRAWS as f64).sqrt();
            assert!(
                (mean - (range - 1.0) / 2.0).abs() < error,
                "{collisions}: {mean}"
            );
            assert!(slots.iter().all(|slots| (*slots as f64) < range));
        }
    }
}
