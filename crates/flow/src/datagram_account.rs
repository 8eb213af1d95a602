//! The account of the datagrams a receiver takes in.

use super::counters::FlowCounters;
use super::datagram_format::{SenderClock, Stamp};
use caudal_analysis::delay::{DelayVariation, JitterRfc3550};
use caudal_analysis::sequence::{RunningCounts, SequenceTracker};
use caudal_core::marks::{ArrivedMarks, MarkCounter};
use caudal_core::plan::DatagramSizes;
use caudal_core::sample::DelaySummary;
use caudal_core::sequence::SequenceCounts;
use caudal_core::transit::TransitTimes;
use std::sync::atomic::Ordering::Relaxed;

/// The datagrams a receiver expects.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExpectedDatagrams {
    /// Their sizes; `None` where the receiver does not know them.
    pub(crate) sizes: Option<DatagramSizes>,
    /// A datagram's bytes behind its header, and the length of the header, where payload is verified.
    pub(crate) payload: Option<(Vec<u8>, usize)>,
}

/// Consecutive datagrams of one length.
#[derive(Debug, Clone, Copy)]
pub(super) struct DatagramRun {
    first: u64,
    count: u32,
    length: usize,
}

impl DatagramRun {
    /// A run of one datagram of `length` bytes.
    #[inline]
    pub(super) const fn new(sequence: u64, length: usize) -> Self {
        Self {
            first: sequence,
            count: 1,
            length,
        }
    }

    /// This run with one more datagram; `None` where that is not the next one of the same length.
    #[inline]
    pub(super) fn extended(self, sequence: u64, length: usize) -> Option<Self> {
        let is_next = self.length == length
            && Some(sequence) == self.first.checked_add(u64::from(self.count));
        is_next.then_some(Self {
            count: self.count + 1,
            ..self
        })
    }
}

/// The account of the datagrams of one flow.
pub struct DatagramAccount {
    expected: ExpectedDatagrams,
    sequence: SequenceTracker,
    bytes: u64,
    corrupt: u64,
    marks: MarkCounter,
    jitter: JitterRfc3550,
    variation: DelayVariation,
    transit: TransitTimes,
    latest_transit_ns: i64,
    late_counts: bool,
    is_wall_clock: bool,
}

impl DatagramAccount {
    /// An account of what is `expected`, whose times are of `clock`; with `late_counts`, the bytes of late datagrams count.
    pub(super) fn new(expected: ExpectedDatagrams, clock: SenderClock, late_counts: bool) -> Self {
        Self {
            expected,
            sequence: SequenceTracker::new(),
            bytes: 0,
            corrupt: 0,
            marks: MarkCounter::default(),
            jitter: JitterRfc3550::new(),
            variation: DelayVariation::new(),
            transit: TransitTimes::default(),
            latest_transit_ns: 0,
            late_counts,
            is_wall_clock: clock == SenderClock::Wall,
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> RunningCounts {
        self.sequence.counts()
    }

    /// Payload bytes so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// RFC 3550 jitter, ns.
    pub fn jitter_ns(&self) -> u64 {
        self.jitter.jitter_ns().unwrap_or(0.0) as u64
    }

    /// One-way transit times so far.
    pub const fn transit(&self) -> &TransitTimes {
        &self.transit
    }

    /// The next expected number: the highest so far plus one.
    pub fn due(&self) -> u64 {
        self.counts().highest.map_or(0, |highest| highest + 1)
    }

    /// Datagrams missing so far; with `announced`, those behind the last that arrived too.
    pub fn lost(&self, announced: Option<u64>) -> u64 {
        let behind = announced.map_or(0, |all| all.saturating_sub(self.due()));
        self.counts().lost_so_far() + behind
    }

    /// Counts a datagram that is damaged.
    pub(super) const fn add_corrupt(&mut self) {
        self.corrupt += 1;
    }

    /// Adds datagrams that arrived with this TOS byte or traffic class.
    #[inline]
    pub(super) fn add_marks(&mut self, tos: u8, datagrams: u64) {
        self.marks.add(tos, datagrams);
    }

    /// The marks with which datagrams arrived; `None` where the kernel did not tell.
    pub(super) fn marks(&self) -> Option<ArrivedMarks> {
        self.marks.counts()
    }

    /// `true` when a datagram has the length, and where it is verified the payload, that belongs to its number.
    #[inline]
    pub(super) fn is_intact(&self, datagram: &[u8], stamp: &Stamp) -> bool {
        let has_length = match &self.expected.sizes {
            Some(sizes) => datagram.len() == sizes.length_of(stamp.sequence) as usize,
            None => true,
        };
        has_length
            && match &self.expected.payload {
                Some((payload, header)) => payload.starts_with(&datagram[*header..]),
                None => true,
            }
    }

    /// Adds the transit time of a datagram, ns by the clocks of both ends.
    #[inline]
    pub(super) fn add_transit(&mut self, transit_ns: i64) {
        self.jitter.push(transit_ns);
        self.variation.push(transit_ns);
        if self.is_wall_clock {
            self.transit.push(transit_ns as f64 / 1e9);
            self.latest_transit_ns = transit_ns;
        }
    }

    /// Adds consecutive datagrams of one length.
    #[inline]
    pub(super) fn add_run(&mut self, run: DatagramRun) {
        let before = self.counted();
        self.sequence.push_run(run.first, run.count);
        self.bytes += (self.counted() - before) * run.length as u64;
    }

    /// Datagrams whose bytes count.
    fn counted(&self) -> u64 {
        let counts = self.counts();
        counts.received + if self.late_counts { counts.late } else { 0 }
    }

    /// Writes the account into the flow's counters.
    pub(super) fn publish(&self, counters: &FlowCounters, announced: Option<u64>) {
        let counts = self.counts();
        counters.bytes.store(self.bytes, Relaxed);
        counters.datagrams.store(counts.received, Relaxed);
        counters.duplicate.store(counts.duplicate, Relaxed);
        counters.reordered.store(counts.reordered, Relaxed);
        counters.late.store(counts.late, Relaxed);
        counters
            .corrupt
            .store(self.corrupt + counts.absurd, Relaxed);
        counters.ce.store(self.marks.ce(), Relaxed);
        counters.lost.store(self.lost(announced), Relaxed);
        counters.jitter_ns.store(self.jitter_ns(), Relaxed);
        if self.transit.count > 0 {
            counters
                .transit
                .store(&self.transit, self.latest_transit_ns);
        }
    }

    /// The final account of a flow of which `sent` datagrams were sent, and its delay variation.
    pub(super) fn finish(self, sent: Option<u64>) -> (SequenceCounts, DelaySummary) {
        let delay = delay_summary(&self.jitter, &self.variation);
        (self.sequence.finish(sent), delay)
    }
}

fn delay_summary(jitter: &JitterRfc3550, variation: &DelayVariation) -> DelaySummary {
    let found = variation.summary();
    let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
    DelaySummary {
        n: Some(found.n),
        jitter_rfc3550_us: jitter.jitter_ns().unwrap_or(0.0) / 1e3,
        ipdv_mean_abs_us: found.ipdv_mean_abs_ns.map(|ns| ns / 1e3),
        pdv_p50_us: us(found.pdv_p50_ns),
        pdv_p90_us: us(found.pdv_p90_ns),
        pdv_p99_us: us(found.pdv_p99_ns),
        pdv_p99_9_us: us(found.pdv_p99_9_ns),
        pdv_max_us: us(found.pdv_max_ns),
    }
}
