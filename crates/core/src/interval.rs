//! What happened between two readings.

use crate::plan::{Direction, PlannedFlow, Ticks};
use crate::sample::{Counters, FlowRecord, ReceiverCounters, Sample, SenderCounters, TcpState};
use serde::Serialize;

/// One flow between two readings of its receiver.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interval {
    /// When it begins, s after the start by the receiver's clock.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// The rate that makes, bit/s.
    pub goodput_bps: f64,
    /// Whether it belongs to the warm-up.
    pub omitted: bool,
    /// Share of the interval the receiving thread spent on a processor; `None` where its end does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_cpu: Option<f64>,
    /// Share of the interval the sending thread spent on a processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_cpu: Option<f64>,
    /// TCP as its sender saw it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpInterval>,
    /// Datagrams as their receiver saw them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpInterval>,
}

/// TCP between two readings of the sender's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TcpInterval {
    /// Smoothed round-trip time at its end, µs.
    pub rtt_us: u32,
    /// Smallest round-trip time so far, µs.
    pub min_rtt_us: Option<u32>,
    /// Congestion window at its end, bytes.
    pub cwnd_bytes: u64,
    /// Bytes retransmitted in it.
    pub retransmitted_bytes: Option<u64>,
    /// Segments retransmitted in it.
    pub retransmits: u64,
    /// The kernel's delivery rate at its end, bit/s.
    pub delivery_rate_bps: Option<u64>,
    /// Time with data outstanding, µs.
    pub busy_us: Option<u64>,
    /// Of that, time held back by the receiver's window, µs.
    pub receiver_window_limited_us: Option<u64>,
    /// Of that, time held back by the send buffer, µs.
    pub send_buffer_limited_us: Option<u64>,
    /// Whether the sending application limited the delivery rate at its end.
    pub app_limited: bool,
}

/// Datagrams between two readings of their receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UdpInterval {
    /// Distinct datagrams that arrived.
    pub datagrams: u64,
    /// Change in the number of datagrams missing: negative when missing ones came in after all.
    pub lost: i64,
    /// Datagrams that arrived again. This and the next four are `None` where the receiver does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived after a later one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Datagrams given up that arrived after all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Datagrams with damaged content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// Datagrams dropped at the receiving socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_drops: Option<u64>,
    /// RFC 3550 jitter at its end, µs.
    pub jitter_rfc3550_us: f64,
}

/// What a server of another program tells of the datagrams it receives; of its processor and its socket
/// none tells anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hearsay {
    /// Whether it counts those that arrive after a later one.
    pub reordered: bool,
}

impl TcpInterval {
    fn between(earlier: &TcpState, later: &TcpState) -> Self {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Self {
            rtt_us: later.rtt_us,
            min_rtt_us: later.min_rtt_us,
            cwnd_bytes: later.cwnd_bytes,
            retransmitted_bytes: grown(later.retransmitted_bytes, earlier.retransmitted_bytes),
            retransmits: later.retransmits.saturating_sub(earlier.retransmits),
            delivery_rate_bps: later.delivery_rate_bps,
            busy_us: grown(later.busy_us, earlier.busy_us),
            receiver_window_limited_us: grown(
                later.receiver_window_limited_us,
                earlier.receiver_window_limited_us,
            ),
            send_buffer_limited_us: grown(
                later.send_buffer_limited_us,
                earlier.send_buffer_limited_us,
            ),
            app_limited: later.app_limited,
        }
    }
}

impl UdpInterval {
    fn between(
        earlier: &ReceiverCounters,
        later: &ReceiverCounters,
        hearsay: Option<Hearsay>,
    ) -> Self {
        let counted = |then: u64, now: u64| hearsay.is_none().then(|| now.saturating_sub(then));
        Self {
            datagrams: later.datagrams.saturating_sub(earlier.datagrams),
            lost: i64::try_from(later.lost).unwrap_or(i64::MAX)
                - i64::try_from(earlier.lost).unwrap_or(i64::MAX),
            duplicate: counted(earlier.duplicate, later.duplicate),
            reordered: hearsay
                .is_none_or(|told| told.reordered)
                .then(|| later.reordered.saturating_sub(earlier.reordered)),
            late: counted(earlier.late, later.late),
            corrupt: counted(earlier.corrupt, later.corrupt),
            socket_drops: counted(earlier.socket_drops, later.socket_drops),
            jitter_rfc3550_us: later.jitter_rfc3550_ns as f64 / 1e3,
        }
    }
}

/// A reading with its time.
#[derive(Debug, Clone, Copy)]
struct Read<T> {
    at_ns: u64,
    counters: T,
}

impl Interval {
    /// `None` when no time passed between the readings.
    fn between(
        earlier: &Read<ReceiverCounters>,
        later: &Read<ReceiverCounters>,
        sender: Option<(&Read<SenderCounters>, &Read<SenderCounters>)>,
        omitted: bool,
        is_udp: bool,
        hearsay: Option<Hearsay>,
    ) -> Option<Self> {
        let elapsed_ns = later
            .at_ns
            .checked_sub(earlier.at_ns)
            .filter(|ns| *ns > 0)?;
        let bytes = later.counters.bytes.saturating_sub(earlier.counters.bytes);
        let share = |cpu: u64, ns: u64| (cpu as f64 / ns.max(1) as f64).min(1.0);
        let tcp = sender.and_then(|(earlier, later)| {
            Some(TcpInterval::between(
                earlier.counters.tcp.as_ref()?,
                later.counters.tcp.as_ref()?,
            ))
        });
        Some(Self {
            start_s: earlier.at_ns as f64 / 1e9,
            end_s: later.at_ns as f64 / 1e9,
            bytes,
            goodput_bps: bytes as f64 * 8e9 / elapsed_ns as f64,
            omitted,
            receiver_cpu: hearsay.is_none().then(|| {
                share(
                    later
                        .counters
                        .cpu_ns
                        .saturating_sub(earlier.counters.cpu_ns),
                    elapsed_ns,
                )
            }),
            sender_cpu: sender.map(|(earlier, later)| {
                share(
                    later
                        .counters
                        .cpu_ns
                        .saturating_sub(earlier.counters.cpu_ns),
                    later.at_ns.saturating_sub(earlier.at_ns),
                )
            }),
            tcp,
            udp: is_udp.then(|| UdpInterval::between(&earlier.counters, &later.counters, hearsay)),
        })
    }
}

/// All flows between the same two ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The tick at its end.
    pub tick: u64,
    /// One interval for each flow, in the order of the plan.
    pub flows: Vec<(PlannedFlow, Interval)>,
}

impl Row {
    /// Payload that arrived in one direction: bytes, bit/s, and how many flows that was.
    #[must_use]
    pub fn sum(&self, direction: Direction) -> (u64, f64, usize) {
        self.flows
            .iter()
            .filter(|(flow, _)| flow.direction == direction)
            .fold((0, 0.0, 0), |(bytes, bps, count), (_, interval)| {
                (
                    bytes.saturating_add(interval.bytes),
                    bps + interval.goodput_bps,
                    count + 1,
                )
            })
    }
}

/// Puts the readings of both ends together into intervals, in whatever order they arrive.
#[derive(Debug)]
pub struct Timeline {
    flows: Vec<PlannedFlow>,
    receivers: Vec<Vec<Read<ReceiverCounters>>>,
    senders: Vec<Vec<Read<SenderCounters>>>,
    rows: u64,
    ticks: Ticks,
    is_udp: bool,
    /// What the server tells, where it is another program's.
    foreign: Option<Hearsay>,
}

impl Timeline {
    /// A timeline of these flows.
    #[must_use]
    pub fn new(flows: impl IntoIterator<Item = PlannedFlow>, ticks: &Ticks, is_udp: bool) -> Self {
        let flows: Vec<PlannedFlow> = flows.into_iter().collect();
        Self {
            receivers: flows.iter().map(|_| Vec::new()).collect(),
            senders: flows.iter().map(|_| Vec::new()).collect(),
            foreign: None,
            flows,
            rows: 0,
            ticks: *ticks,
            is_udp,
        }
    }

    /// The server is another program's: its senders do not report while the test runs, and of its
    /// receivers no more is known than it tells.
    pub fn hear_from(&mut self, server: Hearsay) {
        self.foreign = Some(server);
    }

    /// What the server tells, where it is another program's.
    #[must_use]
    pub const fn foreign(&self) -> Option<Hearsay> {
        self.foreign
    }

    /// What is told of the receivers in this direction, where another program speaks for them.
    #[must_use]
    pub fn hearsay(&self, direction: Direction) -> Option<Hearsay> {
        self.foreign.filter(|_| direction == Direction::Up)
    }

    /// Takes a reading in. One that is out of turn, or of an unknown flow, is left out.
    pub fn push(&mut self, sample: &Sample) {
        let Some(at) = self.flows.iter().position(|flow| flow.id == sample.flow) else {
            return;
        };
        match sample.counters {
            Counters::Receiver(counters) => {
                let (at_ns, counters) = if sample.tick == 0 {
                    // The clock starts no later than the first byte: whatever came before this
                    // reading was made came after the start.
                    (
                        0,
                        ReceiverCounters {
                            cpu_ns: counters.cpu_ns,
                            cpu_wait_ns: counters.cpu_wait_ns,
                            ..Default::default()
                        },
                    )
                } else {
                    (sample.at_ns, counters)
                };
                if self.receivers[at].len() as u64 == sample.tick {
                    self.receivers[at].push(Read { at_ns, counters });
                }
            }
            Counters::Sender(counters) => {
                if self.senders[at].len() as u64 == sample.tick {
                    self.senders[at].push(Read {
                        at_ns: sample.at_ns,
                        counters,
                    });
                }
            }
        }
    }

    /// The next row for which both ends of all flows have been read.
    pub fn next_row(&mut self) -> Option<Row> {
        let tick = self.rows + 1;
        let whole = |reads: usize| reads as u64 > tick;
        if !self.receivers.iter().all(|reads| whole(reads.len()))
            || !self.senders.iter().zip(&self.flows).all(|(reads, flow)| {
                let silent = self.foreign.is_some() && flow.direction == Direction::Down;
                silent || whole(reads.len())
            })
        {
            return None;
        }
        self.rows = tick;
        Some(self.row(tick))
    }

    /// Rows that only the receivers have reported: what is left when the senders cannot report any more.
    pub fn rest(&mut self) -> Vec<Row> {
        let mut rows = Vec::new();
        while self
            .receivers
            .iter()
            .any(|reads| reads.len() as u64 > self.rows + 1)
        {
            self.rows += 1;
            rows.push(self.row(self.rows));
        }
        rows
    }

    fn row(&self, tick: u64) -> Row {
        Row {
            tick,
            flows: self
                .flows
                .iter()
                .enumerate()
                .filter_map(|(at, flow)| Some((*flow, self.interval(at, tick)?)))
                .collect(),
        }
    }

    fn interval(&self, at: usize, tick: u64) -> Option<Interval> {
        let now = usize::try_from(tick).ok()?;
        let reads = &self.receivers[at];
        let senders = &self.senders[at];
        let sender = senders.get(now - 1).zip(senders.get(now));
        let omitted = tick <= self.ticks.first_measured();
        Interval::between(
            reads.get(now - 1)?,
            reads.get(now)?,
            sender,
            omitted,
            self.is_udp,
            self.hearsay(self.flows[at].direction),
        )
    }

    /// All whole intervals of a flow.
    #[must_use]
    pub fn intervals(&self, flow: u32) -> Vec<Interval> {
        let Some(at) = self.flows.iter().position(|known| known.id == flow) else {
            return Vec::new();
        };
        (1..self.receivers[at].len() as u64)
            .filter_map(|tick| self.interval(at, tick))
            .collect()
    }

    /// The last reading of a flow's receiver.
    #[must_use]
    pub fn last_received(&self, flow: u32) -> Option<&ReceiverCounters> {
        let at = self.flows.iter().position(|known| known.id == flow)?;
        self.receivers[at].last().map(|read| &read.counters)
    }

    /// Adds the last, partial interval of a flow that ended before its last tick: up to its last byte.
    ///
    /// Where all of it is through (`is_whole`), what was read after the last byte of a flow that ends by bytes is not of it.
    pub fn close(&mut self, record: &FlowRecord, is_whole: bool) {
        let Some(at) = self.flows.iter().position(|flow| flow.id == record.flow.id) else {
            return;
        };
        let Some(received) = record.received() else {
            return;
        };
        if self.ticks.at(self.receivers[at].len() as u64).is_none() {
            // The test ran to its last tick: what came in behind it is not of its time.
            return;
        }
        if is_whole && self.ticks.total().is_none() && received.bytes > 0 {
            self.end_with_last_byte(at, received);
        }
        let Some(last) = self.receivers[at].last().copied() else {
            return;
        };
        if received.bytes > last.counters.bytes && received.last_ns > last.at_ns {
            self.receivers[at].push(Read {
                at_ns: received.last_ns,
                counters: *received,
            });
            let ticks = self.receivers[at].len();
            if let Some(sent) = record.sent()
                && self.senders[at].len() + 1 == ticks
            {
                self.senders[at].push(Read {
                    at_ns: received.last_ns,
                    counters: *sent,
                });
            }
        }
    }

    /// Leaves out the silence behind the last byte.
    fn end_with_last_byte(&mut self, at: usize, received: &ReceiverCounters) {
        let reads = &mut self.receivers[at];
        let all = |read: &Read<ReceiverCounters>| read.counters.bytes == received.bytes;
        let Some(first_with_all) = reads.iter().position(all).filter(|first| *first > 0) else {
            return;
        };
        reads.truncate(first_with_all + 1);
        let before_ns = reads[first_with_all - 1].at_ns;
        let last = &mut reads[first_with_all];
        if (before_ns + 1..last.at_ns).contains(&received.last_ns) {
            last.at_ns = received.last_ns;
        }
        self.senders[at].truncate(first_with_all + 1);
    }

    /// A flow's receiver over the measured part: bytes and ns, from the end of the warm-up to the last
    /// reading; `None` when it was never read twice.
    #[must_use]
    pub fn measured(&self, flow: u32) -> Option<Measured> {
        let at = self.flows.iter().position(|known| known.id == flow)?;
        let reads = &self.receivers[at];
        let warm = usize::try_from(self.ticks.first_measured()).ok()?;
        let (first, last) = (reads.get(warm)?, reads.last()?);
        let elapsed_ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
        let senders = &self.senders[at];
        let tcp = |read: Option<&Read<SenderCounters>>| read.and_then(|read| read.counters.tcp);
        let share = |cpu: u64, ns: u64| (cpu as f64 / ns.max(1) as f64).min(1.0);
        Some(Measured {
            bytes: last.counters.bytes.saturating_sub(first.counters.bytes),
            start_ns: first.at_ns,
            elapsed_ns,
            receiver_cpu: self.hearsay(self.flows[at].direction).is_none().then(|| {
                share(
                    last.counters.cpu_ns.saturating_sub(first.counters.cpu_ns),
                    elapsed_ns,
                )
            }),
            receiver_cpu_wait: share(
                last.counters
                    .cpu_wait_ns
                    .saturating_sub(first.counters.cpu_wait_ns),
                elapsed_ns,
            ),
            sender_cpu_wait: senders
                .get(warm)
                .zip(senders.last())
                .map_or(0.0, |(first, last)| {
                    share(
                        last.counters
                            .cpu_wait_ns
                            .saturating_sub(first.counters.cpu_wait_ns),
                        last.at_ns.saturating_sub(first.at_ns),
                    )
                }),
            sender_cpu: senders.get(warm).zip(senders.last()).map(|(first, last)| {
                share(
                    last.counters.cpu_ns.saturating_sub(first.counters.cpu_ns),
                    last.at_ns.saturating_sub(first.at_ns),
                )
            }),
            sender_bytes: senders
                .get(warm)
                .zip(senders.last())
                .map(|(first, last)| last.counters.bytes.saturating_sub(first.counters.bytes)),
            sender_elapsed_ns: senders
                .get(warm)
                .zip(senders.last())
                .map(|(first, last)| last.at_ns.saturating_sub(first.at_ns)),
            credit_wait: senders
                .get(warm)
                .zip(senders.last())
                .map_or(0.0, |(first, last)| {
                    share(
                        last.counters
                            .credit_wait_ns
                            .saturating_sub(first.counters.credit_wait_ns),
                        last.at_ns.saturating_sub(first.at_ns),
                    )
                }),
            tcp: tcp(senders.get(warm)).zip(tcp(senders.last())),
            app_limited: {
                let states: Vec<bool> = senders
                    .iter()
                    .skip(warm + 1)
                    .filter_map(|read| read.counters.tcp.map(|tcp| tcp.app_limited))
                    .collect();
                states.iter().filter(|limited| **limited).count() as f64
                    / states.len().max(1) as f64
            },
        })
    }
}

/// A flow over the measured part of a test.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// When the measured part begins, ns after the start.
    pub start_ns: u64,
    /// How long it is, ns.
    pub elapsed_ns: u64,
    /// Share of it the receiving thread spent on a processor; `None` where its end does not tell.
    pub receiver_cpu: Option<f64>,
    /// Share of it the receiving thread was ready to run without a processor.
    pub receiver_cpu_wait: f64,
    /// Share of it the sending thread spent on a processor.
    pub sender_cpu: Option<f64>,
    /// Share of it the sending thread was ready to run without a processor.
    pub sender_cpu_wait: f64,
    /// Payload bytes the sender handed to its kernel.
    pub sender_bytes: Option<u64>,
    /// How long the sender's part of it is, ns.
    pub sender_elapsed_ns: Option<u64>,
    /// Share of it the sender waited for the receiver's credit.
    pub credit_wait: f64,
    /// The sender's kernel at its beginning and end (TCP).
    pub tcp: Option<(TcpState, TcpState)>,
    /// Share of the readings in which the sending application limited the rate.
    pub app_limited: f64,
}

impl Measured {
    /// The rate at which payload was handed to the sender's kernel, bit/s; that at which it arrived when the
    /// sender did not report.
    #[must_use]
    pub fn sent_bps(&self) -> f64 {
        match (self.sender_bytes, self.sender_elapsed_ns) {
            (Some(bytes), Some(ns)) => bytes as f64 * 8e9 / ns.max(1) as f64,
            _ => self.goodput_bps(),
        }
    }

    /// The rate at which payload arrived, bit/s.
    #[must_use]
    pub fn goodput_bps(&self) -> f64 {
        self.bytes as f64 * 8e9 / self.elapsed_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ticks(omit: f64) -> Ticks {
        let omit = Duration::from_secs_f64(omit);
        Ticks::new(
            Duration::from_secs(1),
            omit,
            Some(omit + Duration::from_secs(4)),
        )
    }

    fn flow() -> PlannedFlow {
        PlannedFlow {
            id: 0,
            direction: Direction::Up,
        }
    }

    fn received(tick: u64, bytes: u64) -> Sample {
        let counters = Counters::Receiver(ReceiverCounters {
            bytes,
            ..Default::default()
        });
        Sample {
            flow: 0,
            tick,
            at_ns: tick * 1_000_000_000,
            counters,
        }
    }

    fn sent(tick: u64, bytes: u64) -> Sample {
        let counters = Counters::Sender(SenderCounters {
            bytes,
            ..Default::default()
        });
        Sample {
            flow: 0,
            tick,
            at_ns: tick * 1_000_000_000,
            counters,
        }
    }

    #[test]
    fn a_row_waits_for_both_ends() {
        let mut timeline = Timeline::new([flow()], &ticks(0.0), false);
        for sample in [received(0, 0), received(1, 1000), sent(0, 0)] {
            timeline.push(&sample);
        }
        assert_eq!(timeline.next_row(), None);
        timeline.push(&sent(1, 5000));
        let row = timeline.next_row().unwrap();
        assert_eq!(row.sum(Direction::Up), (1000, 8000.0, 1));
        assert_eq!(timeline.next_row(), None);
    }

    #[test]
    fn the_receivers_rows_are_shown_when_the_sender_has_fallen_silent() {
        let mut timeline = Timeline::new([flow()], &ticks(0.0), false);
        for tick in 0..4 {
            timeline.push(&received(tick, tick * 10));
        }
        assert_eq!(timeline.rest().len(), 3);
        assert!(timeline.rest().is_empty());
    }

    #[test]
    fn the_warm_up_is_left_out_of_what_is_measured() {
        let mut timeline = Timeline::new([flow()], &ticks(2.0), false);
        for (tick, bytes) in [0, 10, 20, 1020, 2020].into_iter().enumerate() {
            timeline.push(&received(tick as u64, bytes));
        }
        let measured = timeline.measured(0).unwrap();
        assert_eq!((measured.bytes, measured.elapsed_ns), (2000, 2_000_000_000));
        let omitted: Vec<bool> = timeline
            .intervals(0)
            .iter()
            .map(|interval| interval.omitted)
            .collect();
        assert_eq!(omitted, [true, true, false, false]);
    }

    #[test]
    fn a_flow_that_ends_before_its_time_is_closed_at_its_last_byte_and_no_other() {
        let record = |bytes, last_ns| {
            let counters = Counters::Receiver(ReceiverCounters {
                bytes,
                last_ns,
                ..Default::default()
            });
            let receiver = crate::sample::FlowEnd {
                flow: 0,
                counters,
                granted: crate::sample::Granted::default(),
                spacing: None,
                sequence: None,
                delay: None,
                failure: None,
            };
            FlowRecord {
                flow: flow(),
                sender: None,
                receiver: Some(receiver),
            }
        };
        let mut early = Timeline::new([flow()], &ticks(0.0), false);
        early.push(&received(0, 0));
        early.close(&record(3_000_000, 250_000_000), true);
        assert_eq!(early.measured(0).unwrap().elapsed_ns, 250_000_000);
        let mut whole = Timeline::new([flow()], &ticks(0.0), false);
        (0..=4).for_each(|tick| whole.push(&received(tick, tick * 10)));
        whole.close(&record(90, 4_100_000_000), true);
        assert_eq!(whole.measured(0).unwrap().bytes, 40);
        let by_bytes = || {
            let ticks = Ticks::new(Duration::from_secs(1), Duration::ZERO, None);
            let mut timeline = Timeline::new([flow()], &ticks, false);
            for (tick, bytes) in [0, 50, 80, 80, 80].into_iter().enumerate() {
                timeline.push(&received(tick as u64, bytes));
            }
            timeline
        };
        let (mut through, mut cut_short) = (by_bytes(), by_bytes());
        through.close(&record(80, 1_600_000_000), true);
        assert_eq!(through.measured(0).unwrap().elapsed_ns, 1_600_000_000);
        cut_short.close(&record(80, 1_600_000_000), false);
        assert_eq!(cut_short.measured(0).unwrap().elapsed_ns, 4_000_000_000);
    }

    #[test]
    fn readings_out_of_turn_are_left_out() {
        let mut timeline = Timeline::new([flow()], &ticks(0.0), false);
        for sample in [
            received(1, 5),
            received(0, 0),
            received(2, 9),
            received(0, 3),
        ] {
            timeline.push(&sample);
        }
        assert!(timeline.intervals(0).is_empty());
    }
}
