//! The rows of a test while it runs: one for each interval.

use super::packet_record::PacketRecord;
use caudal_core::echo::{IntervalBounds, RoundTripInterval};
use caudal_core::event::Event;
use caudal_core::plan::StampPlan;

/// The rows of a test.
#[derive(Default)]
pub(super) struct StampRows {
    /// The start of the test, ns of the monotonic clock.
    start_ns: u64,
    interval_ns: u64,
    /// The time allowed for a reply, ns.
    timeout_ns: u64,
    length: u32,
    /// Rows so far.
    rows: u64,
    /// The round trips of the interval that is under way, ns.
    times_ns: Vec<u64>,
    /// The oldest packet that has not had its time.
    first_open: usize,
}

impl StampRows {
    /// The rows of a test that starts at `start_ns` of the monotonic clock.
    pub(super) fn new(plan: &StampPlan, start_ns: u64) -> Self {
        let nanos = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            start_ns,
            interval_ns: nanos(plan.interval).max(1),
            timeout_ns: nanos(plan.timeout),
            length: plan.length,
            ..Self::default()
        }
    }

    /// Adds a round trip to the interval that is under way.
    pub(super) fn add(&mut self, rtt_ns: u64) {
        self.times_ns.push(rtt_ns);
    }

    fn begin_ns(&self) -> u64 {
        self.start_ns
            .saturating_add(self.interval_ns.saturating_mul(self.rows))
    }

    /// The end of the interval that is under way, ns of the monotonic clock.
    pub(super) fn end_ns(&self) -> u64 {
        self.begin_ns().saturating_add(self.interval_ns)
    }

    /// Emits the row of an interval that has ended.
    pub(super) fn until(
        &mut self,
        now_ns: u64,
        packets: &[PacketRecord],
        events: &mut dyn FnMut(Event),
    ) {
        let end_ns = self.end_ns();
        if now_ns >= end_ns {
            self.emit(end_ns, now_ns, packets, events);
            // A test that was held up for longer has nothing to tell of the intervals in between.
            self.rows = self.rows.max((now_ns - self.start_ns) / self.interval_ns);
        }
    }

    /// Emits the last row, unless hardly anything of its interval has passed.
    pub(super) fn last(
        &mut self,
        now_ns: u64,
        packets: &[PacketRecord],
        events: &mut dyn FnMut(Event),
    ) {
        let passed_ns = now_ns.saturating_sub(self.begin_ns());
        if passed_ns > self.interval_ns / 10 || !self.times_ns.is_empty() {
            self.emit(now_ns, now_ns, packets, events);
        }
    }

    fn emit(
        &mut self,
        end_ns: u64,
        now_ns: u64,
        packets: &[PacketRecord],
        events: &mut dyn FnMut(Event),
    ) {
        let open = packets.get(self.first_open..).unwrap_or_default();
        let had_time = open
            .iter()
            .take_while(|packet| packet.sent_ns.saturating_add(self.timeout_ns) < now_ns);
        let (mut count, mut lost) = (0, 0);
        for packet in had_time {
            count += 1;
            lost += u64::from(packet.reply.is_none());
        }
        self.first_open += count;
        let seconds = |ns: u64| ns.saturating_sub(self.start_ns) as f64 / 1e9;
        let bounds = IntervalBounds {
            start_s: seconds(self.begin_ns()),
            end_s: seconds(end_ns),
        };
        let row = RoundTripInterval::new(bounds, self.length, lost, &self.times_ns);
        events(Event::RoundTrips(row));
        self.rows += 1;
        self.times_ns.clear();
    }
}
