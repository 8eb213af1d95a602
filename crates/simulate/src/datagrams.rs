//! Datagrams: when a source sends them, in how many pieces, and what the other end makes of them.

use std::collections::VecDeque;
use std::time::Duration;

use caudal_core::delay::JitterRfc3550;
use caudal_core::framing::Framing;
use caudal_core::sequence::{Arrival, SequenceCounts, SequenceTracker};
use caudal_link::dice::Dice;
use caudal_link::moment::Moment;

use crate::outcome::RttSummary;
use crate::packet::Datagram;
use crate::scenario::Pattern;
use crate::span::{after, ns_between, whole_ns};

const SECOND_NS: f64 = 1e9;
const UDP_HEADER: u32 = 8;
/// Datagrams whose fragments are waited for at once.
const UNFINISHED: usize = 256;

/// How a datagram is cut into IP packets (RFC 791 section 3.2, RFC 8200 section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pieces {
    /// Bytes of every packet but the last.
    full: u32,
    /// Bytes of the last packet.
    last: u32,
    pub(crate) count: u16,
}

impl Pieces {
    /// How `payload` bytes cross in packets of `framing`; `None` when they cannot.
    pub(crate) fn of(framing: &Framing, payload: u32) -> Option<Self> {
        // Headers are 20 or 40 bytes.
        let header = framing.ip.header_bytes() as u32;
        let body = payload.checked_add(UDP_HEADER)?;
        if header + body.min(u32::MAX - header) <= framing.mtu {
            return Some(Self {
                full: 0,
                last: header + body,
                count: 1,
            });
        }
        let fragment_header = header + if header == 40 { 8 } else { 0 };
        let room = framing.mtu.checked_sub(fragment_header)?;
        let carried = room / 8 * 8;
        if carried == 0 {
            return None;
        }
        let before_last = body.saturating_sub(room).div_ceil(carried);
        Some(Self {
            full: fragment_header + carried,
            last: fragment_header + body - before_last * carried,
            count: u16::try_from(before_last + 1).ok()?,
        })
    }

    /// Bytes of packet `piece`.
    pub(crate) const fn packet_bytes(&self, piece: u16) -> u32 {
        if piece + 1 == self.count {
            self.last
        } else {
            self.full
        }
    }
}

/// Decides when datagrams leave.
#[derive(Debug)]
pub(crate) struct Source {
    pattern: Pattern,
    payload: u32,
    dice: Dice,
    /// When the count of even departures began, and how many there were since.
    since: Moment,
    even: u64,
    /// Until when a source that is now and then silent goes on.
    on_until: Moment,
    next: Option<Moment>,
    pub(crate) sent: u64,
}

impl Source {
    pub(crate) fn new(pattern: Pattern, payload: u32, dice: Dice) -> Self {
        Self {
            pattern,
            payload,
            dice,
            since: Moment::START,
            even: 0,
            on_until: Moment::START,
            next: None,
            sent: 0,
        }
    }

    pub(crate) fn start(&mut self, now: Moment) {
        self.since = now;
        self.next = Some(now);
        if let Pattern::OnOff { on, .. } = self.pattern {
            self.on_until = after(now, self.exponential(on));
        }
    }

    pub(crate) const fn stop(&mut self) {
        self.next = None;
    }

    pub(crate) const fn deadline(&self) -> Option<Moment> {
        self.next
    }

    fn exponential(&mut self, mean: Duration) -> u64 {
        let ns = -libm::log(self.dice.fraction()) * whole_ns(mean) as f64;
        // Saturates.
        ns as u64
    }

    /// The number of the datagram that leaves at `now`, if one does.
    pub(crate) fn leave(&mut self, now: Moment) -> Option<u64> {
        self.next.filter(|next| *next <= now)?;
        let number = self.sent;
        self.sent += 1;
        self.next = Some(self.departure_after(now));
        Some(number)
    }

    fn departure_after(&mut self, now: Moment) -> Moment {
        let bits = f64::from(self.payload) * 8.0;
        match self.pattern {
            Pattern::Constant(rate) => self.even_departure(rate.bps()),
            Pattern::Poisson(rate) => {
                let gap = bits / rate.as_f64() * SECOND_NS;
                after(now, (-libm::log(self.dice.fraction()) * gap) as u64)
            }
            Pattern::OnOff { rate, on, off } => {
                let next = self.even_departure(rate.bps());
                if next <= self.on_until {
                    return next;
                }
                let silence = self.exponential(off);
                self.since = after(self.on_until.max(now), silence);
                self.even = 0;
                self.on_until = after(self.since, self.exponential(on));
                self.since
            }
        }
    }

    /// When the next of evenly spaced datagrams leaves, without a rounding that adds up.
    fn even_departure(&mut self, bps: u64) -> Moment {
        self.even += 1;
        let bit_ns = u128::from(self.even) * u128::from(self.payload) * 8 * 1_000_000_000;
        let ns = bit_ns / u128::from(bps.max(1));
        after(self.since, u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Puts fragments together again, the latest datagrams only.
#[derive(Debug, Default)]
pub(crate) struct Reassembly {
    unfinished: VecDeque<(u64, u16)>,
}

impl Reassembly {
    /// Whether `piece` completes its datagram. A piece that came twice counts twice, as networks seldom do that.
    pub(crate) fn completes(&mut self, datagram: &Datagram) -> bool {
        if datagram.pieces <= 1 {
            return true;
        }
        let known = |(number, _): &(u64, u16)| *number == datagram.number;
        if let Some(index) = self.unfinished.iter().position(known) {
            let got = &mut self.unfinished[index].1;
            *got += 1;
            if *got >= datagram.pieces {
                self.unfinished.remove(index);
                return true;
            }
            return false;
        }
        if self.unfinished.len() >= UNFINISHED {
            self.unfinished.pop_front();
        }
        self.unfinished.push_back((datagram.number, 1));
        false
    }
}

/// What the other end makes of datagrams.
#[derive(Debug)]
pub(crate) struct Sink {
    tracker: SequenceTracker,
    reassembly: Reassembly,
    delay: RttSummary,
    jitter: JitterRfc3550,
}

impl Sink {
    pub(crate) fn new() -> Self {
        Self {
            tracker: SequenceTracker::new(),
            reassembly: Reassembly::default(),
            delay: RttSummary::default(),
            jitter: JitterRfc3550::new(),
        }
    }

    /// Takes a piece; gives whether a datagram came for the first time.
    pub(crate) fn take(&mut self, now: Moment, datagram: &Datagram) -> bool {
        if !self.reassembly.completes(datagram) {
            return false;
        }
        let is_new = matches!(
            self.tracker.push(datagram.number),
            Arrival::InOrder | Arrival::Reordered { .. }
        );
        if is_new {
            let delay = ns_between(datagram.sent, now);
            self.delay.record(delay);
            self.jitter.push(i64::try_from(delay).unwrap_or(i64::MAX));
        }
        is_new
    }

    /// What became of the `sent` datagrams, up to the newest that arrived: those behind it may be on their way. Where none
    /// arrived, all are lost.
    pub(crate) fn counts(&self, sent: u64) -> SequenceCounts {
        let none = self.tracker.counts().highest.is_none();
        self.tracker.finish(none.then_some(sent))
    }

    pub(crate) const fn delay(&self) -> &RttSummary {
        &self.delay
    }

    pub(crate) fn jitter_ns(&self) -> Option<f64> {
        self.jitter.jitter_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::framing::IpVersion;
    use caudal_core::units::BitRate;
    use proptest::prelude::*;

    fn departures(pattern: Pattern, count: usize) -> Vec<u64> {
        let mut source = Source::new(pattern, 1000, Dice::new(1, 0));
        source.start(Moment::from_ns(50));
        let mut all = Vec::new();
        while all.len() < count {
            let now = source.deadline().unwrap();
            source.leave(now).unwrap();
            all.push(now.ns());
        }
        all
    }

    #[test]
    fn even_departures_never_drift() {
        let all = departures(Pattern::Constant(BitRate::from_bps(3_000_000)), 3001);
        assert_eq!((all[0], all[1], all[3000]), (50, 2_666_716, 8_000_000_050));
    }

    #[test]
    fn a_poisson_source_keeps_its_mean_and_spreads_as_wide() {
        let all = departures(Pattern::Poisson(BitRate::from_bps(8_000_000)), 20_001);
        let gaps: Vec<f64> = all.windows(2).map(|two| (two[1] - two[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // Four standard errors of a mean of 20 000 exponential gaps of 1 ms.
        assert!((mean / 1e6 - 1.0).abs() < 4.0 / 20_000_f64.sqrt(), "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.05);
    }

    #[test]
    fn a_source_that_is_silent_half_the_time_sends_half_as_much() {
        let half = Duration::from_millis(50);
        let rate = BitRate::from_bps(8_000_000);
        let all = departures(
            Pattern::OnOff {
                rate,
                on: half,
                off: half,
            },
            20_000,
        );
        let mean = (all[19_999] - all[0]) as f64 / 20_000.0;
        assert!((1.7e6..2.3e6).contains(&mean), "{mean}");
    }

    #[test]
    fn a_datagram_counts_when_its_last_piece_came() {
        let mut sink = Sink::new();
        let piece = |number, piece| Datagram {
            number,
            sent: Moment::START,
            piece,
            pieces: 2,
        };
        let arrivals = [(0, 0), (1, 0), (1, 1), (2, 1), (0, 1), (3, 0), (3, 1)];
        let whole = arrivals.map(|(number, at)| sink.take(Moment::from_ns(9), &piece(number, at)));
        assert_eq!(whole, [false, false, true, false, true, false, true]);
        assert_eq!(sink.counts(4).lost, 1);
        // What was sent after the newest that arrived may still come; nothing of what never arrived will.
        assert_eq!(sink.counts(9).lost, 1);
        assert_eq!(Sink::new().counts(9).lost, 9);
    }

    proptest! {
        #[test]
        fn pieces_take_the_wire_bytes_that_framing_says(mtu in 0_u32..10_000, payload in 0_u32..70_000, six: bool, vlan: bool) {
            let ip = if six { IpVersion::V6 } else { IpVersion::V4 };
            let framing = Framing { mtu, ip, vlan, ..Framing::default() };
            let pieces = Pieces::of(&framing, payload);
            let wire = pieces.map(|pieces| {
                (0..pieces.count).map(|piece| framing.wire_bytes(pieces.packet_bytes(piece).into())).sum::<u64>()
            });
            prop_assert_eq!(wire, framing.udp_wire_bytes(payload));
        }
    }
}
