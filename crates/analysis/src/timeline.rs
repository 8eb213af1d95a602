//! The readings of a test's flows, from which intervals and totals are made.

use crate::datagram_span::{counted_span_ns, datagram_span_ns};
use crate::interval::{Counted, Reading, interval_between, share};
use caudal_core::interval::{FlowInterval, Interval, IntervalRow, ServerAccount};
use caudal_core::plan::{Direction, PlannedFlow, Ticks, Transport};
use caudal_core::readings::{ReceiverReadings, SenderReadings};
use caudal_core::sample::{
    Counters, FlowRecord, ReceiverCounters, Sample, SenderCounters, TcpSnapshot,
};

/// The readings of both ends of a test's flows, paired into intervals in whatever order they arrive.
#[derive(Debug)]
pub struct Timeline {
    flows: Vec<PlannedFlow>,
    receivers: Vec<Vec<Reading<ReceiverCounters>>>,
    senders: Vec<Vec<Reading<SenderCounters>>>,
    rows: u64,
    ticks: Ticks,
    transport: Transport,
    account: ServerAccount,
}

impl Timeline {
    /// An empty timeline of these flows, of which the server gives this account.
    #[must_use]
    pub fn new(
        flows: impl IntoIterator<Item = PlannedFlow>,
        ticks: &Ticks,
        transport: Transport,
        account: ServerAccount,
    ) -> Self {
        let flows: Vec<PlannedFlow> = flows.into_iter().collect();
        Self {
            receivers: flows.iter().map(|_| Vec::new()).collect(),
            senders: flows.iter().map(|_| Vec::new()).collect(),
            flows,
            rows: 0,
            ticks: *ticks,
            transport,
            account,
        }
    }

    /// The account the server gives of its ends.
    #[must_use]
    pub const fn server_account(&self) -> ServerAccount {
        self.account
    }

    /// The account the receivers of this direction give: full where they are this end's own.
    #[must_use]
    pub fn receiver_account(&self, direction: Direction) -> ServerAccount {
        match direction {
            Direction::Up => self.account,
            Direction::Down => ServerAccount::Full,
        }
    }

    /// Adds a reading. One that is out of turn, or of an unknown flow, is ignored.
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
                            readings: counters.readings,
                            ..Default::default()
                        },
                    )
                } else {
                    (sample.at_ns, counters)
                };
                if self.receivers[at].len() as u64 == sample.tick {
                    self.receivers[at].push(Reading { at_ns, counters });
                }
            }
            Counters::Sender(counters) => {
                if self.senders[at].len() as u64 == sample.tick {
                    self.senders[at].push(Reading {
                        at_ns: sample.at_ns,
                        counters,
                    });
                }
            }
        }
    }

    /// The next row for which both ends of all flows have been read; senders of another program's server do not report
    /// while a test runs.
    pub fn next_row(&mut self) -> Option<IntervalRow> {
        let tick = self.rows + 1;
        let is_complete = |readings: usize| readings as u64 > tick;
        if !self
            .receivers
            .iter()
            .all(|readings| is_complete(readings.len()))
            || !self
                .senders
                .iter()
                .zip(&self.flows)
                .all(|(readings, flow)| {
                    let silent = !self.account.is_full() && flow.direction == Direction::Down;
                    silent || is_complete(readings.len())
                })
        {
            return None;
        }
        self.rows = tick;
        Some(self.row(tick))
    }

    /// The remaining rows, for which only receivers have been read: to be taken when the senders report no more.
    pub fn remaining_rows(&mut self) -> Vec<IntervalRow> {
        let mut rows = Vec::new();
        while self
            .receivers
            .iter()
            .any(|readings| readings.len() as u64 > self.rows + 1)
        {
            self.rows += 1;
            rows.push(self.row(self.rows));
        }
        rows
    }

    fn row(&self, tick: u64) -> IntervalRow {
        IntervalRow {
            flows: self
                .flows
                .iter()
                .enumerate()
                .filter_map(|(at, flow)| {
                    Some(FlowInterval {
                        flow: *flow,
                        interval: self.interval(at, tick)?,
                    })
                })
                .collect(),
        }
    }

    fn interval(&self, at: usize, tick: u64) -> Option<Interval> {
        let now = usize::try_from(tick).ok()?;
        let receivers = &self.receivers[at];
        let senders = &self.senders[at];
        let sender = senders.get(now - 1).zip(senders.get(now));
        let omitted = tick <= self.ticks.first_measured();
        interval_between(
            receivers.get(now - 1)?,
            receivers.get(now)?,
            sender,
            omitted,
            Counted {
                is_udp: self.transport == Transport::Udp,
                account: self.receiver_account(self.flows[at].direction),
            },
        )
    }

    /// The intervals of a flow.
    #[must_use]
    pub fn intervals(&self, flow: u32) -> Vec<Interval> {
        let Some(at) = self.flows.iter().position(|known| known.id == flow) else {
            return Vec::new();
        };
        (1..self.receivers[at].len() as u64)
            .filter_map(|tick| self.interval(at, tick))
            .collect()
    }

    /// The latest counters of a flow's receiver; `None` where nothing was read of it after the start.
    #[must_use]
    pub fn last_received(&self, flow: u32) -> Option<&ReceiverCounters> {
        let at = self.flows.iter().position(|known| known.id == flow)?;
        let later = self.receivers[at].get(1..)?;
        later.last().map(|reading| &reading.counters)
    }

    /// Removes the server's readings of a flow.
    fn forget_server(&mut self, at: usize, direction: Direction) {
        match direction {
            Direction::Up => self.receivers[at].clear(),
            Direction::Down => self.senders[at].clear(),
        }
    }

    /// The transport under test.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        self.transport
    }

    /// The numbers of the flows of a direction.
    #[must_use]
    pub fn flows_of(&self, direction: Direction) -> Vec<u32> {
        let flows = self.flows.iter();
        flows
            .filter(|flow| flow.direction == direction)
            .map(|flow| flow.id)
            .collect()
    }

    /// The kernel's states of a flow at its sender, in the order they were read.
    #[must_use]
    pub fn sender_states(&self, flow: u32) -> Vec<TcpSnapshot> {
        let readings = self.senders_of(flow).iter();
        readings
            .filter_map(|reading| reading.counters.tcp)
            .collect()
    }

    /// The time of a reading of the senders of a direction, s after the start: that of the first flow.
    #[must_use]
    pub fn sender_time_s(&self, direction: Direction, tick: usize) -> Option<f64> {
        let flow = *self.flows_of(direction).first()?;
        let reading = self.senders_of(flow).get(tick)?;
        Some(reading.at_ns as f64 / 1e9)
    }

    /// The time of the last reading of any sender, s after the start; that of any receiver where no sender was read.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        let last_ns = |ns: Option<u64>| ns.unwrap_or(0);
        let sent = self.senders.iter().flatten().map(|reading| reading.at_ns);
        let received = self.receivers.iter().flatten();
        let received = received.map(|reading| reading.at_ns);
        let end_ns = match last_ns(sent.max()) {
            0 => last_ns(received.max()),
            end_ns => end_ns,
        };
        end_ns as f64 / 1e9
    }

    fn senders_of(&self, flow: u32) -> &[Reading<SenderCounters>] {
        let at = self.flows.iter().position(|known| known.id == flow);
        at.map_or(&[], |at| &self.senders[at])
    }

    /// What the sender of a flow did between the readings around a time; `None` where it was not read.
    #[must_use]
    pub fn sent_around(&self, flow: u32, from_s: f64, to_s: f64) -> Option<SentAround> {
        let readings = self.senders_of(flow);
        let seconds = |reading: &Reading<SenderCounters>| reading.at_ns as f64 / 1e9;
        let (first, last) = (readings.first()?, readings.last()?);
        let before = readings.iter().rfind(|reading| seconds(reading) <= from_s);
        let after = readings.iter().find(|reading| seconds(reading) >= to_s);
        let (before, after) = (before.unwrap_or(first), after.unwrap_or(last));
        let datagrams = |earlier: &Reading<SenderCounters>, later: &Reading<SenderCounters>| {
            later
                .counters
                .datagrams
                .saturating_sub(earlier.counters.datagrams)
        };
        let busy_us = after.counters.tcp.and_then(|tcp| tcp.busy_us);
        let busy_before_us = before.counters.tcp.and_then(|tcp| tcp.busy_us);
        let whole_s = (seconds(last) - seconds(first)).max(f64::EPSILON);
        Some(SentAround {
            span_s: seconds(after) - seconds(before),
            busy_s: busy_us
                .zip(busy_before_us)
                .map(|(after, before)| after.saturating_sub(before) as f64 / 1e6),
            datagrams: datagrams(before, after),
            usual_rate: datagrams(first, last) as f64 / whole_s,
        })
    }

    /// Drops all readings after the time, ns after the start, at which the other end was last heard.
    pub fn cut_at(&mut self, at_ns: u64) {
        for (receivers, senders) in self.receivers.iter_mut().zip(&mut self.senders) {
            let heard = receivers.partition_point(|reading| reading.at_ns <= at_ns);
            receivers.truncate(heard.max(1));
            let sent = senders.partition_point(|reading| reading.at_ns <= at_ns);
            senders.truncate(sent.max(1).min(receivers.len()));
        }
    }

    /// Adds the last, partial interval of a flow that ended before its last tick: up to its last byte.
    ///
    /// Where the flow was completed, readings after the last byte of a flow that ends by bytes are dropped.
    pub fn close(&mut self, record: &FlowRecord, is_complete: bool) {
        let Some(at) = self.flows.iter().position(|flow| flow.id == record.flow.id) else {
            return;
        };
        if record.implausible.is_some() {
            self.forget_server(at, record.flow.direction);
        }
        let Some(received) = record.received() else {
            return;
        };
        if self.ticks.at(self.receivers[at].len() as u64).is_none() {
            // The test ran to its last tick: later arrivals are outside its time.
            return;
        }
        if is_complete && self.ticks.total().is_none() && received.bytes > 0 {
            self.end_with_last_byte(at, received);
        }
        let Some(last) = self.receivers[at].last().copied() else {
            return;
        };
        if received.bytes > last.counters.bytes && received.last_ns > last.at_ns {
            self.receivers[at].push(Reading {
                at_ns: received.last_ns,
                counters: *received,
            });
            let ticks = self.receivers[at].len();
            if let Some(sent) = record.sent()
                && self.senders[at].len() + 1 == ticks
            {
                self.senders[at].push(Reading {
                    at_ns: received.last_ns,
                    counters: *sent,
                });
            }
        }
    }

    /// Drops the readings after the last byte.
    fn end_with_last_byte(&mut self, at: usize, received: &ReceiverCounters) {
        let readings = &mut self.receivers[at];
        let has_all =
            |reading: &Reading<ReceiverCounters>| reading.counters.bytes == received.bytes;
        let Some(first_with_all) = readings.iter().position(has_all).filter(|first| *first > 0)
        else {
            return;
        };
        readings.truncate(first_with_all + 1);
        let before_ns = readings[first_with_all - 1].at_ns;
        let last = &mut readings[first_with_all];
        if (before_ns + 1..last.at_ns).contains(&received.last_ns) {
            last.at_ns = received.last_ns;
        }
        self.senders[at].truncate(first_with_all + 1);
    }

    /// A flow over the measured part, from the end of the warm-up to the last reading; `None` when its receiver
    /// was not read twice.
    #[must_use]
    pub fn measured(&self, flow: u32) -> Option<MeasuredFlow> {
        let at = self.flows.iter().position(|known| known.id == flow)?;
        let receivers = &self.receivers[at];
        let warm = usize::try_from(self.ticks.first_measured()).ok()?;
        let (first, last) = (receivers.get(warm)?, receivers.last()?);
        let elapsed_ns = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
        let span_ns = match self.transport {
            Transport::Tcp => elapsed_ns,
            Transport::Udp if self.ticks.total().is_none() => counted_span_ns(first, last)?,
            Transport::Udp => datagram_span_ns(first, last),
        };
        let senders = &self.senders[at];
        let ends = senders.get(warm).zip(senders.last());
        let sender_elapsed_ns = ends.map(|(first, last)| last.at_ns.saturating_sub(first.at_ns));
        let sender_increase = |counter: fn(&SenderCounters) -> u64| {
            ends.map(|(first, last)| {
                counter(&last.counters).saturating_sub(counter(&first.counters))
            })
        };
        let sender_share = |counter: fn(&SenderCounters) -> u64| {
            Some(share(sender_increase(counter)?, sender_elapsed_ns?))
        };
        let receiver_share = |counter: fn(&ReceiverCounters) -> u64| {
            share(
                counter(&last.counters).saturating_sub(counter(&first.counters)),
                elapsed_ns,
            )
        };
        let app_limited: Vec<bool> = senders
            .iter()
            .skip(warm + 1)
            .filter_map(|reading| reading.counters.tcp.map(|tcp| tcp.app_limited))
            .collect();
        Some(MeasuredFlow {
            bytes: last
                .counters
                .arrived_bytes()
                .saturating_sub(first.counters.arrived_bytes()),
            start_ns: first.at_ns,
            elapsed_ns: span_ns,
            receiver_cpu: self
                .receiver_account(self.flows[at].direction)
                .is_full()
                .then(|| receiver_share(|counters| counters.cpu_ns)),
            receiver_cpu_wait: receiver_share(|counters| counters.cpu_wait_ns),
            sender_cpu: sender_share(|counters| counters.cpu_ns),
            sender_cpu_wait: sender_share(|counters| counters.cpu_wait_ns).unwrap_or(0.0),
            sender_bytes: sender_increase(|counters| counters.bytes),
            sender_elapsed_ns,
            credit_wait: sender_share(|counters| counters.credit_wait_ns).unwrap_or(0.0),
            source_wait: sender_share(|counters| counters.source_wait_ns).unwrap_or(0.0),
            pace_wait: sender_share(|counters| counters.pace_wait_ns).unwrap_or(0.0),
            sender_readings: ends.and_then(|(first, last)| {
                let earlier = first.counters.readings.unwrap_or_default();
                Some(last.counters.readings?.since(&earlier))
            }),
            receiver_readings: last
                .counters
                .readings
                .map(|readings| readings.since(&first.counters.readings.unwrap_or_default())),
            tcp: ends.and_then(|(first, last)| first.counters.tcp.zip(last.counters.tcp)),
            app_limited: app_limited.iter().filter(|limited| **limited).count() as f64
                / app_limited.len().max(1) as f64,
        })
    }
}

/// What a sender did between the readings around a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SentAround {
    /// The time between these readings, s.
    pub span_s: f64,
    /// The part of it in which its kernel had data outstanding, s (TCP).
    pub busy_s: Option<f64>,
    /// Datagrams handed to its kernel in it (UDP).
    pub datagrams: u64,
    /// Datagrams handed to its kernel per second over the whole test.
    pub usual_rate: f64,
}

/// A flow over the measured part of a test.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeasuredFlow {
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// The beginning of the measured part, ns after the start.
    pub start_ns: u64,
    /// Its length, ns.
    pub elapsed_ns: u64,
    /// Share of it the receiving thread spent on a processor; `None` where its end does not report it.
    pub receiver_cpu: Option<f64>,
    /// Share of it the receiving thread was runnable and waited for a processor.
    pub receiver_cpu_wait: f64,
    /// Share of it the sending thread spent on a processor.
    pub sender_cpu: Option<f64>,
    /// Share of it the sending thread was runnable and waited for a processor.
    pub sender_cpu_wait: f64,
    /// Payload bytes the sender handed to its kernel.
    pub sender_bytes: Option<u64>,
    /// The length of the sender's part of it, ns.
    pub sender_elapsed_ns: Option<u64>,
    /// Share of it the sender waited for the receiver's credit.
    pub credit_wait: f64,
    /// Share of it the sender waited for the source of its payload.
    pub source_wait: f64,
    /// Share of it the sender waited for the schedule of the rate asked for.
    pub pace_wait: f64,
    /// The states in which the sender's connection was found in it (TCP).
    pub sender_readings: Option<SenderReadings>,
    /// The states in which the receiver's connection was found in it (TCP).
    pub receiver_readings: Option<ReceiverReadings>,
    /// The sender's kernel at its beginning and end (TCP).
    pub tcp: Option<(TcpSnapshot, TcpSnapshot)>,
    /// Share of the readings in which the sending application limited the rate.
    pub app_limited: f64,
}

impl MeasuredFlow {
    /// The rate at which payload was handed to the sender's kernel, bit/s; that at which it arrived when the
    /// sender did not report.
    #[must_use]
    pub fn sent_bps(&self) -> f64 {
        match (self.sender_bytes, self.sender_elapsed_ns) {
            (Some(bytes), Some(ns)) => bytes as f64 * 8e9 / ns.max(1) as f64,
            _ => self.goodput_bps(),
        }
    }

    /// Share of the time the sending thread waited for room in its send buffer: the rest of what is accounted for; `None` when
    /// the sender did not report its processor time.
    #[must_use]
    pub fn send_wait(&self) -> Option<f64> {
        let accounted = self.sender_cpu? + self.sender_cpu_wait + self.source_wait + self.pace_wait;
        Some((1.0 - accounted).max(0.0))
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
        let mut timeline =
            Timeline::new([flow()], &ticks(0.0), Transport::Tcp, ServerAccount::Full);
        for sample in [received(0, 0), received(1, 1000), sent(0, 0)] {
            timeline.push(&sample);
        }
        assert_eq!(timeline.next_row(), None);
        timeline.push(&sent(1, 5000));
        let row = timeline.next_row().unwrap();
        let sum = row.sum(Direction::Up);
        assert_eq!((sum.bytes, sum.goodput_bps, sum.flows), (1000, 8000.0, 1));
        assert_eq!(timeline.next_row(), None);
    }

    #[test]
    fn rows_of_the_receivers_alone_remain_when_the_sender_reports_no_more() {
        let mut timeline =
            Timeline::new([flow()], &ticks(0.0), Transport::Tcp, ServerAccount::Full);
        for tick in 0..4 {
            timeline.push(&received(tick, tick * 10));
        }
        assert_eq!(timeline.remaining_rows().len(), 3);
        assert!(timeline.remaining_rows().is_empty());
    }

    #[test]
    fn the_warm_up_is_excluded_from_the_measured_part() {
        let mut timeline =
            Timeline::new([flow()], &ticks(2.0), Transport::Tcp, ServerAccount::Full);
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
    fn a_receiver_that_was_read_at_the_start_only_is_unknown() {
        let mut timeline =
            Timeline::new([flow()], &ticks(0.0), Transport::Udp, ServerAccount::Full);
        timeline.push(&received(0, 0));
        assert!(timeline.last_received(0).is_none());
        timeline.push(&received(1, 10));
        assert!(timeline.last_received(0).is_some());
    }

    #[test]
    fn a_flow_that_ends_before_its_time_is_closed_at_its_last_byte_and_no_other() {
        let record = |bytes, last_ns| {
            let counters = Counters::Receiver(ReceiverCounters {
                bytes,
                last_ns,
                ..Default::default()
            });
            let receiver = caudal_core::sample::FlowEnd {
                flow: 0,
                counters,
                granted: caudal_core::sample::Granted::default(),
                spacing: None,
                sequence: None,
                marks: None,
                ecn_seen: None,
                ecn_arrived: None,
                delay: None,
                trace: None,
                failure: None,
            };
            FlowRecord::new(flow(), None, Some(receiver))
        };
        let mut early = Timeline::new([flow()], &ticks(0.0), Transport::Tcp, ServerAccount::Full);
        early.push(&received(0, 0));
        early.close(&record(3_000_000, 250_000_000), true);
        assert_eq!(early.measured(0).unwrap().elapsed_ns, 250_000_000);
        let mut whole = Timeline::new([flow()], &ticks(0.0), Transport::Tcp, ServerAccount::Full);
        (0..=4).for_each(|tick| whole.push(&received(tick, tick * 10)));
        whole.close(&record(90, 4_100_000_000), true);
        assert_eq!(whole.measured(0).unwrap().bytes, 40);
        let by_bytes = || {
            let ticks = Ticks::new(Duration::from_secs(1), Duration::ZERO, None);
            let mut timeline = Timeline::new([flow()], &ticks, Transport::Tcp, ServerAccount::Full);
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
    fn readings_out_of_turn_are_ignored() {
        let mut timeline =
            Timeline::new([flow()], &ticks(0.0), Transport::Tcp, ServerAccount::Full);
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
