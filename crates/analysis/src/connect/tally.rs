//! Attempts added up as they end.

use super::attempt::ConnectAttempt;
use caudal_core::connect::{
    ConnectFailures, ConnectInterval, ConnectReport, ConnectServer, ConnectTimes,
};
use caudal_stats::{
    Estimate, LatencyHistogram, batch_means_from, nearest_rank, supported_quantile,
};
use std::time::Duration;

/// The shortest time over which connections are counted for the interval of their rate.
const MIN_BIN: Duration = Duration::from_millis(100);
/// Maximum number of such times.
const MAX_BINS: u64 = 10_000;
/// Minimum time to connect that shows a lost SYN or SYN-ACK: the initial retransmission timeout (RFC 6298, section 2).
const SYN_TIMEOUT_NS: u64 = 1_000_000_000;

/// The steps of the attempts that ended in the current interval, µs.
#[derive(Debug, Clone, Default)]
struct IntervalTimes {
    connect: Vec<f64>,
    handshake: Vec<f64>,
    first_byte: Vec<f64>,
}

/// Attempts added up as they end, in memory that does not grow with their number but for the current interval.
#[derive(Debug, Clone)]
pub struct ConnectTally {
    failures: ConnectFailures,
    completed: u64,
    connect: LatencyHistogram,
    handshake: LatencyHistogram,
    first_byte: LatencyHistogram,
    /// Attempts whose handshake took as long as the retransmission of a SYN takes.
    syn_retransmitted: u64,
    /// Attempts that began later than their schedule by more than the time between two of them.
    late: u64,
    period_ns: Option<u64>,
    bin_ns: u64,
    /// Connections completed in each bin.
    bins: Vec<f64>,
    current: IntervalTimes,
    /// The connections that had ended when the current interval began: completed, failed.
    counted: (u64, u64),
    began_s: f64,
    intervals: Vec<ConnectInterval>,
}

/// Attempts added up over a whole test.
#[derive(Debug, Clone, PartialEq)]
pub struct TallyEnd {
    /// Attempts that ended.
    pub attempts: u64,
    /// Attempts that were completed.
    pub completed: u64,
    /// The others.
    pub failures: ConnectFailures,
    /// Completed connections per second; `None` when no time passed.
    pub per_s: Option<Estimate>,
    /// The times to connect.
    pub connect: Option<ConnectTimes>,
    /// The times of the TLS handshake.
    pub handshake: Option<ConnectTimes>,
    /// The times to the first byte.
    pub first_byte: Option<ConnectTimes>,
    /// Connections whose SYN or SYN-ACK was probably sent again.
    pub syn_retransmitted: u64,
    /// Attempts that began later than their schedule.
    pub late: u64,
    /// The intervals.
    pub intervals: Vec<ConnectInterval>,
}

impl TallyEnd {
    /// The result of these attempts, which took `elapsed_s`.
    #[must_use]
    pub fn report(self, server: ConnectServer, elapsed_s: f64) -> ConnectReport {
        ConnectReport {
            server,
            elapsed_s,
            attempts: self.attempts,
            completed: self.completed,
            failures: self.failures,
            per_s: self.per_s,
            connect: self.connect,
            handshake: self.handshake,
            first_byte: self.first_byte,
            syn_retransmitted: self.syn_retransmitted,
            late: self.late,
            intervals: self.intervals,
            ..ConnectReport::default()
        }
    }
}

impl ConnectTally {
    /// The tally of a test planned for `time`, whose attempts begin every `period` where they have a schedule.
    #[must_use]
    pub fn new(time: Duration, period: Option<Duration>) -> Self {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self {
            failures: ConnectFailures::default(),
            completed: 0,
            connect: LatencyHistogram::new(),
            handshake: LatencyHistogram::new(),
            first_byte: LatencyHistogram::new(),
            syn_retransmitted: 0,
            late: 0,
            period_ns: period.map(ns),
            bin_ns: ns(MIN_BIN).max(ns(time) / MAX_BINS),
            bins: Vec::new(),
            current: IntervalTimes::default(),
            counted: (0, 0),
            began_s: 0.0,
            intervals: Vec::new(),
        }
    }

    /// Connections that were completed, and that failed.
    #[must_use]
    pub fn ended(&self) -> (u64, u64) {
        (self.completed, self.failures.total())
    }

    /// Adds an attempt that has ended.
    pub fn add(&mut self, attempt: &ConnectAttempt) {
        let record = |times: &mut LatencyHistogram, list: &mut Vec<f64>, ns: Option<u64>| {
            if let Some(ns) = ns {
                times.record_ns(ns);
                list.push(ns as f64 / 1e3);
            }
        };
        let current = &mut self.current;
        record(&mut self.connect, &mut current.connect, attempt.connect_ns);
        record(
            &mut self.handshake,
            &mut current.handshake,
            attempt.handshake_ns,
        );
        record(
            &mut self.first_byte,
            &mut current.first_byte,
            attempt.first_byte_ns,
        );
        if attempt.connect_ns.is_some_and(|ns| ns >= SYN_TIMEOUT_NS) {
            self.syn_retransmitted += 1;
        }
        if self
            .period_ns
            .is_some_and(|period_ns| attempt.late_ns > period_ns)
        {
            self.late += 1;
        }
        match attempt.failure {
            Some(failure) => self.failures.add(failure),
            None => {
                self.completed += 1;
                let bin = (attempt.end_ns / self.bin_ns).min(MAX_BINS) as usize;
                if self.bins.len() <= bin {
                    self.bins.resize(bin + 1, 0.0);
                }
                self.bins[bin] += 1.0;
            }
        }
    }

    /// Closes the current interval at `end_s` after the start of the test.
    pub fn close_interval(&mut self, end_s: f64) -> ConnectInterval {
        let (completed, failed) = self.ended();
        let mut times = std::mem::take(&mut self.current);
        let length_s = (end_s - self.began_s).max(1e-9);
        let completed_now = completed - self.counted.0;
        let connect = sorted(&mut times.connect);
        let interval = ConnectInterval {
            start_s: self.began_s,
            end_s,
            completed: completed_now,
            failed: failed - self.counted.1,
            per_s: completed_now as f64 / length_s,
            connect_p50_us: nearest_rank(connect, 0.5),
            connect_p99_us: supported_quantile(connect, 0.99),
            connect_max_us: connect.last().copied(),
            handshake_p50_us: nearest_rank(sorted(&mut times.handshake), 0.5),
            first_byte_p50_us: nearest_rank(sorted(&mut times.first_byte), 0.5),
        };
        self.counted = (completed, failed);
        self.began_s = end_s;
        self.intervals.push(interval);
        interval
    }

    /// What all attempts add up to in a test that took `elapsed_s`.
    #[must_use]
    pub fn finish(mut self, elapsed_s: f64, confidence: f64) -> TallyEnd {
        let (completed, failed) = self.ended();
        TallyEnd {
            attempts: completed + failed,
            completed,
            failures: self.failures,
            per_s: self.per_s(elapsed_s, confidence),
            connect: ConnectTimes::new(&self.connect),
            handshake: ConnectTimes::new(&self.handshake),
            first_byte: ConnectTimes::new(&self.first_byte),
            syn_retransmitted: self.syn_retransmitted,
            late: self.late,
            intervals: self.intervals,
        }
    }

    /// Completed connections per second, with an interval from batches of the counts of whole bins.
    fn per_s(&mut self, elapsed_s: f64, confidence: f64) -> Option<Estimate> {
        if elapsed_s <= 0.0 {
            return None;
        }
        let mean = self.completed as f64 / elapsed_s;
        let bin_s = self.bin_ns as f64 / 1e9;
        let whole = ((elapsed_s / bin_s + 1e-6).floor() as usize).min(MAX_BINS as usize);
        self.bins.resize(whole, 0.0);
        let rates: Vec<f64> = self.bins.iter().map(|count| count / bin_s).collect();
        let Some(found) = batch_means_from(&rates, 1, confidence) else {
            return Some(Estimate::single(mean));
        };
        let half = found.estimate.half_width();
        Some(Estimate {
            mean,
            low: (mean - half).max(0.0),
            high: mean + half,
            ..found.estimate
        })
    }
}

fn sorted(values: &mut [f64]) -> &[f64] {
    values.sort_unstable_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::connect::ConnectFailure;

    const SECOND: u64 = 1_000_000_000;

    /// `per_s` connections in each of `seconds`, each connected within 50 µs and answered after 80 µs more.
    fn steady(seconds: u64, per_s: u64) -> ConnectTally {
        let mut tally = ConnectTally::new(Duration::from_secs(seconds), None);
        for nth in 0..seconds * per_s {
            let start_ns = nth * SECOND / per_s;
            tally.add(&ConnectAttempt {
                start_ns,
                end_ns: start_ns + 130_000,
                connect_ns: Some(50_000),
                first_byte_ns: Some(80_000),
                ..ConnectAttempt::default()
            });
            if (nth + 1) % per_s == 0 {
                tally.close_interval(((nth + 1) / per_s) as f64);
            }
        }
        tally
    }

    #[test]
    fn the_rate_is_that_of_completed_connections_with_its_interval() {
        let end = steady(10, 1000).finish(10.0, 0.95);
        let per_s = end.per_s.unwrap();
        assert!((per_s.mean - 1000.0).abs() < 1e-9, "{per_s:?}");
        assert!(per_s.low > 950.0 && per_s.high < 1050.0, "{per_s:?}");
        assert_eq!((end.attempts, end.completed, end.late), (10_000, 10_000, 0));
        assert_eq!(end.intervals.len(), 10);
        assert_eq!(end.intervals[3].completed, 1000);
        assert!((end.intervals[3].per_s - 1000.0).abs() < 1e-6);
        assert_eq!(end.intervals[3].connect_p50_us, Some(50.0));
        assert_eq!(end.handshake, None);
        assert_eq!(end.connect.unwrap().n, 10_000);
    }

    #[test]
    fn a_rate_that_halves_has_a_wide_interval() {
        let mut tally = steady(5, 1000);
        for nth in 0..2500_u64 {
            tally.add(&ConnectAttempt {
                end_ns: 5 * SECOND + nth * 2_000_000,
                ..ConnectAttempt::default()
            });
        }
        let per_s = tally.finish(10.0, 0.95).per_s.unwrap();
        assert!((per_s.mean - 750.0).abs() < 1.0, "{per_s:?}");
        assert!(per_s.high - per_s.low > 200.0, "{per_s:?}");
    }

    #[test]
    fn failures_and_late_and_retransmitted_attempts_are_no_completed_connections() {
        let mut tally = ConnectTally::new(Duration::from_secs(1), Some(Duration::from_millis(10)));
        tally.add(&ConnectAttempt {
            failure: Some(ConnectFailure::TimedOut),
            ..ConnectAttempt::default()
        });
        tally.add(&ConnectAttempt {
            connect_ns: Some(SECOND + 20_000_000),
            late_ns: 11_000_000,
            ..ConnectAttempt::default()
        });
        let interval = tally.close_interval(2.0);
        assert_eq!((interval.completed, interval.failed), (1, 1));
        let end = tally.finish(2.0, 0.95);
        assert_eq!((end.attempts, end.completed), (2, 1));
        assert_eq!((end.failures.timed_out, end.failures.total()), (1, 1));
        assert_eq!((end.syn_retransmitted, end.late), (1, 1));
    }

    #[test]
    fn a_test_of_a_month_counts_in_bounded_memory() {
        let month = Duration::from_secs(30 * 86_400);
        let mut tally = ConnectTally::new(month, None);
        tally.add(&ConnectAttempt {
            end_ns: u64::MAX,
            ..ConnectAttempt::default()
        });
        assert!(tally.bins.len() <= MAX_BINS as usize + 1);
    }
}
