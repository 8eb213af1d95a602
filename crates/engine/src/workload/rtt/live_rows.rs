//! The round trips of a test that is under way, interval by interval.

use caudal_core::echo::{IntervalBounds, RoundTripInterval};
use caudal_core::event::Event;
use caudal_flow::rtt::{FeedReader, ReplyFeed};
use std::sync::Arc;
use std::time::Duration;

/// The time between two readings, ns: feeds hold more than arrives in it.
const READING_NS: u64 = 100_000_000;

/// The rows of a test of one message size.
pub(super) struct LiveRows {
    size_bytes: u32,
    clients: u32,
    interval_ns: u64,
    readers: Vec<FeedReader>,
    /// The start of the test, ns of the monotonic clock.
    start_ns: u64,
    /// The number of rows so far.
    rows: u64,
    /// The round-trip times of the interval so far, ns.
    times_ns: Vec<u64>,
    /// Messages given up in the interval so far.
    lost: u64,
}

impl LiveRows {
    /// The rows of `clients` connections that send messages of `size_bytes`, one every `interval`.
    pub(super) fn new(size_bytes: u32, clients: u32, interval: Duration) -> Self {
        Self {
            size_bytes,
            clients,
            interval_ns: u64::try_from(interval.as_nanos())
                .unwrap_or(u64::MAX)
                .max(1),
            readers: Vec::new(),
            start_ns: 0,
            rows: 0,
            times_ns: Vec::new(),
            lost: 0,
        }
    }

    /// The feed of one more connection.
    pub(super) fn feed(&mut self) -> Arc<ReplyFeed> {
        let feed = Arc::new(ReplyFeed::new(self.clients));
        self.readers.push(FeedReader::new(Arc::clone(&feed)));
        feed
    }

    /// Begins the first interval.
    pub(super) const fn start(&mut self, start_ns: u64) {
        self.start_ns = start_ns;
    }

    /// The time of the next reading after `now_ns`.
    pub(super) fn due_ns(&self, now_ns: u64) -> u64 {
        self.row_end_ns().min(now_ns.saturating_add(READING_NS))
    }

    fn row_end_ns(&self) -> u64 {
        let offset = self.interval_ns.saturating_mul(self.rows + 1);
        self.start_ns.saturating_add(offset)
    }

    /// Reads what has arrived, and emits a row when its interval is over.
    pub(super) fn advance(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        self.read();
        if now_ns >= self.row_end_ns() {
            self.emit(self.row_end_ns(), events);
            // A reader that was held up for longer has nothing to tell of the intervals in between.
            self.rows = self.rows.max((now_ns - self.start_ns) / self.interval_ns);
        }
    }

    /// Emits the last row, unless hardly anything of its interval has passed.
    pub(super) fn finish(&mut self, now_ns: u64, events: &mut dyn FnMut(Event)) {
        self.read();
        let begun_ns = self.row_end_ns() - self.interval_ns;
        let passed_ns = now_ns.saturating_sub(begun_ns);
        let has_any = self.lost > 0 || !self.times_ns.is_empty();
        if has_any && (self.rows == 0 || passed_ns >= self.interval_ns / 10) {
            self.emit(now_ns, events);
        }
    }

    fn read(&mut self) {
        for reader in &mut self.readers {
            self.lost += reader.read(&mut self.times_ns);
        }
    }

    fn emit(&mut self, end_ns: u64, events: &mut dyn FnMut(Event)) {
        let since_start_s = |ns: u64| Duration::from_nanos(ns - self.start_ns).as_secs_f64();
        let bounds = IntervalBounds {
            start_s: since_start_s(self.row_end_ns() - self.interval_ns),
            end_s: since_start_s(end_ns),
        };
        events(Event::RoundTrips(RoundTripInterval::new(
            bounds,
            self.size_bytes,
            self.lost,
            &self.times_ns,
        )));
        self.times_ns.clear();
        self.lost = 0;
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn rows_at(live: &mut LiveRows, now_ns: u64) -> Vec<(f64, f64, u64)> {
        let mut rows = Vec::new();
        live.advance(now_ns, &mut |event| {
            if let Event::RoundTrips(row) = event {
                rows.push((row.start_s, row.end_s, row.replies));
            }
        });
        rows
    }

    #[test]
    fn a_row_is_emitted_when_its_interval_is_over() {
        let mut live = LiveRows::new(64, 1, Duration::from_secs(1));
        let feed = live.feed();
        live.start(5 * MS);
        feed.reply(10);
        assert_eq!(rows_at(&mut live, 500 * MS), []);
        assert_eq!(live.due_ns(950 * MS), 1005 * MS);
        feed.reply(20);
        assert_eq!(rows_at(&mut live, 1006 * MS), [(0.0, 1.0, 2)]);
        feed.reply(30);
        assert_eq!(rows_at(&mut live, 2005 * MS), [(1.0, 2.0, 1)]);
    }

    #[test]
    fn the_last_row_ends_with_the_test() {
        let mut live = LiveRows::new(64, 2, Duration::from_secs(1));
        let (one, other) = (live.feed(), live.feed());
        live.start(0);
        one.reply(10);
        other.reply(20);
        other.lost();
        let mut last = None;
        live.finish(300 * MS, &mut |event| last = Some(event));
        let Some(Event::RoundTrips(row)) = last else {
            panic!("no row");
        };
        assert_eq!((row.replies, row.lost, row.end_s), (2, 1, 0.3));
    }
}
