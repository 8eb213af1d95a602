//! The departures of datagrams: evenly spaced, on a schedule that does not drift. Time is an argument.

use caudal_core::plan::Pacing;
use caudal_core::sample::Spacing;
use caudal_core::units::BitRate;
use caudal_stats::{log_bucket, log_bucket_range, quantile_bucket};

/// Minimum gap between datagrams that leave one by one where departures are precise, ns; closer ones leave in batches.
const SINGLE_GAP_NS: f64 = 20_000.0;
/// Time that a batch of a precise schedule covers, ns.
const BATCH_NS: f64 = 50_000.0;
/// Minimum time of a balanced batch, to half a gap, ns: of a shorter one the sleep takes a large part.
const MIN_BALANCED_BATCH_NS: f64 = 45_000.0;
/// Maximum time of a balanced batch, to half a gap, ns: half the error of datagrams that leave at ticks of 1 ms.
const MAX_BALANCED_BATCH_NS: f64 = 450_000.0;
/// Datagrams of a balanced batch within these times: one sleep and one system call for so many.
const BALANCED_BATCH: f64 = 4.0;
/// Minimum time between balanced departures, as a multiple of the usual wake-up error.
const MIN_WAKE_UPS: f64 = 1.5;
/// Maximum lag behind the schedule, ns: what is due beyond it is not sent.
const MAX_LAG_NS: f64 = 1e9;
/// Sixteen buckets of errors for each power of two ns.
const SUB_BITS: u32 = 4;
/// Maximum error with a bucket of its own, ns.
const MAX_ERROR_NS: u64 = 1 << 36;

/// The next step of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextDeparture {
    /// To send this many datagrams now.
    Send(u32),
    /// To wait until this time, ns.
    Wait(u64),
}

/// The schedule of one flow's datagrams.
///
/// Datagram number n is due n gaps after the start, in exact arithmetic, so the mean rate does not
/// drift. A sender that fell behind catches up at no more than twice the rate: a precise one by departures in closer
/// succession, a balanced one, whose waits cannot be shorter than its wake-up error, by larger departures.
#[derive(Debug)]
pub struct Pacer {
    start_ns: u64,
    gap_ns: f64,
    pacing: Pacing,
    /// Datagrams in a departure where the machine wakes up in time.
    min_batch: u32,
    batch: u32,
    max_batch: u32,
    /// Datagrams of the next departure.
    departure: u32,
    /// Datagrams of the present departure that have not left yet: a departure may take several calls of the kernel.
    unsent: u32,
    sent: u64,
    /// The time at which the gap in use began to hold, ns after the start, and the datagrams that had left by then.
    gap_since: (f64, u64),
    slipped_ns: f64,
    last: Option<PacedDeparture>,
    errors: ErrorHistogram,
}

/// A departure.
#[derive(Debug, Clone, Copy)]
struct PacedDeparture {
    at_ns: u64,
    datagrams: u32,
}

impl Pacer {
    /// A schedule that begins at `start_ns` and carries `rate` of payload in datagrams of `length`
    /// bytes, at most `max` of them in one departure.
    #[must_use]
    pub fn new(start_ns: u64, rate: BitRate, length: u32, max: u32, pacing: Pacing) -> Self {
        let gap_ns = gap_of(rate, length);
        let max_batch = max.max(1);
        let batch = batch_of(gap_ns, pacing).clamp(1, max_batch);
        Self {
            gap_ns,
            min_batch: batch,
            batch,
            max_batch,
            ..Self::with_gap(start_ns, 0, pacing)
        }
    }

    /// A schedule that begins at `start_ns` and carries one datagram every `gap_ns`.
    #[must_use]
    pub fn with_gap(start_ns: u64, gap_ns: u64, pacing: Pacing) -> Self {
        Self {
            start_ns,
            gap_ns: gap_ns as f64,
            pacing,
            min_batch: 1,
            batch: 1,
            max_batch: 1,
            departure: 1,
            unsent: 0,
            sent: 0,
            gap_since: (0.0, 0),
            slipped_ns: 0.0,
            last: None,
            errors: ErrorHistogram::default(),
        }
    }

    /// This schedule with at least `burst` datagrams in a departure.
    #[must_use]
    pub fn with_bursts(mut self, burst: u32) -> Self {
        self.min_batch = self.min_batch.max(burst);
        self.batch = self.batch.max(burst);
        self
    }

    /// Carries another rate from the next datagram on, whose departure stays as it was due.
    pub fn change_rate(&mut self, rate: BitRate, length: u32) {
        self.gap_since = (self.due_ns() - self.slipped_ns, self.sent);
        self.gap_ns = gap_of(rate, length);
        self.min_batch = batch_of(self.gap_ns, self.pacing).clamp(1, self.max_batch);
        self.batch = self.min_batch;
    }

    /// Makes departures large enough for a sender that usually wakes up `usual_ns` late.
    pub fn adapt_to(&mut self, usual_ns: f64) {
        let enough = (MIN_WAKE_UPS * usual_ns / self.gap_ns).ceil() as u32;
        self.batch = enough.min(self.max_batch).max(self.min_batch);
    }

    /// The time between departures, ns.
    #[must_use]
    pub fn period_ns(&self) -> f64 {
        self.gap_ns * f64::from(self.batch)
    }

    /// The time at which the next departure is due, ns after the start.
    fn due_ns(&self) -> f64 {
        let (since_ns, before) = self.gap_since;
        since_ns + (self.sent - before) as f64 * self.gap_ns + self.slipped_ns
    }

    /// The next step at `now_ns`.
    #[must_use]
    pub fn next(&mut self, now_ns: u64) -> NextDeparture {
        if self.unsent > 0 {
            return NextDeparture::Send(self.unsent);
        }
        let elapsed = now_ns.saturating_sub(self.start_ns) as f64;
        let lag = elapsed - self.due_ns();
        if lag > MAX_LAG_NS {
            self.slipped_ns += lag;
        }
        let mut due = self.due_ns();
        if let Some(last) = self.last {
            // Catching up: not closer to the last departure than half the schedule's gap.
            let gap = self.gap_ns * f64::from(last.datagrams);
            due = due.max(last.at_ns.saturating_sub(self.start_ns) as f64 + gap / 2.0);
        }
        if elapsed >= due {
            self.departure = self.datagrams_at(elapsed);
            NextDeparture::Send(self.departure)
        } else {
            NextDeparture::Wait(self.start_ns + due.ceil() as u64)
        }
    }

    /// The datagrams of a departure `elapsed` ns after the start.
    fn datagrams_at(&self, elapsed: f64) -> u32 {
        let is_behind = elapsed - self.due_ns() >= self.period_ns();
        match self.pacing {
            Pacing::Balanced if is_behind => self.batch.saturating_mul(2),
            _ => self.batch,
        }
    }

    /// Takes note that this many datagrams of a departure have left at `at_ns`: the others are due at once.
    pub fn departed(&mut self, at_ns: u64, datagrams: u32) {
        if self.unsent == 0 {
            if let Some(last) = self.last {
                let gap = at_ns.saturating_sub(last.at_ns) as f64;
                let scheduled = self.gap_ns * f64::from(last.datagrams);
                self.errors.record((gap - scheduled).abs().round() as u64);
            }
            self.last = Some(PacedDeparture {
                at_ns,
                datagrams: self.departure,
            });
            self.unsent = self.departure;
        }
        self.unsent = self.unsent.saturating_sub(datagrams);
        self.sent += u64::from(datagrams);
    }

    /// The evenness of the departures.
    #[must_use]
    pub fn spacing(&self) -> Spacing {
        let departures = self.errors.count + u64::from(self.last.is_some());
        Spacing {
            pacing: Some(self.pacing),
            departures,
            datagrams_per_departure: self.sent as f64 / departures.max(1) as f64,
            scheduled_gap_us: self.period_ns() / 1e3,
            error_p50_us: self.errors.quantile_us(0.5),
            error_p99_us: self.errors.quantile_us(0.99),
            error_max_us: self.errors.max_ns as f64 / 1e3,
            slipped_us: self.slipped_ns / 1e3,
        }
    }
}

/// The gap between datagrams of `length` bytes that carry `rate`, ns.
fn gap_of(rate: BitRate, length: u32) -> f64 {
    f64::from(length) * 8.0 * 1e9 / rate.as_f64().max(1.0)
}

/// The datagrams in a departure where they follow one another by `gap_ns`.
fn batch_of(gap_ns: f64, pacing: Pacing) -> u32 {
    (match pacing {
        Pacing::Precise if gap_ns >= SINGLE_GAP_NS => 1.0,
        Pacing::Precise => (BATCH_NS / gap_ns).ceil(),
        Pacing::Balanced => {
            let min = (MIN_BALANCED_BATCH_NS / gap_ns).round();
            let max = (MAX_BALANCED_BATCH_NS / gap_ns).round();
            BALANCED_BATCH.min(max).max(min)
        }
    }) as u32
}

/// Counts errors in ns, in buckets of at most a sixteenth of their values.
#[derive(Debug)]
struct ErrorHistogram {
    buckets: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Default for ErrorHistogram {
    fn default() -> Self {
        Self {
            buckets: vec![0; log_bucket(MAX_ERROR_NS, SUB_BITS) + 1],
            count: 0,
            max_ns: 0,
        }
    }
}

impl ErrorHistogram {
    fn record(&mut self, error_ns: u64) {
        self.buckets[log_bucket(error_ns.min(MAX_ERROR_NS), SUB_BITS)] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(error_ns);
    }

    /// The upper edge in µs of the bucket that holds the quantile; 0 without errors.
    fn quantile_us(&self, q: f64) -> f64 {
        let bucket = quantile_bucket(self.buckets.iter().copied(), self.count, q);
        let upper = bucket.map_or(0, |bucket| log_bucket_range(bucket, SUB_BITS).1);
        upper.min(self.max_ns) as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bps: u64) -> BitRate {
        BitRate::from_bps(bps)
    }

    /// Runs a pacer with a sender that sleeps until 60 µs before a departure, oversleeps by `late_ns`,
    /// and spins for the rest of the wait.
    fn run(pacer: &mut Pacer, until_ns: u64, late_ns: u64) -> Vec<u64> {
        let mut now = 0;
        let mut left = Vec::new();
        while now < until_ns {
            match pacer.next(now) {
                NextDeparture::Wait(at) if at > now + 60_000 => now = at.max(at - 60_000 + late_ns),
                NextDeparture::Wait(at) => now = at,
                NextDeparture::Send(count) => {
                    pacer.departed(now, count);
                    left.push(now);
                    now += 1;
                }
            }
        }
        left
    }

    #[test]
    fn slow_datagrams_leave_one_at_a_time() {
        let mut pacer = Pacer::new(0, rate(100_000_000), 1448, 44, Pacing::Precise);
        assert_eq!(pacer.batch, 1);
        let left = run(&mut pacer, 1_000_000_000, 0);
        assert_eq!(
            left.len(),
            8633,
            "100 Mbit/s of 11 584 bits is 8632.6 a second"
        );
        assert!(
            left.windows(2)
                .all(|pair| (115_000..116_700).contains(&(pair[1] - pair[0])))
        );
    }

    #[test]
    fn fast_datagrams_leave_in_batches_no_longer_than_the_pace_allows() {
        let pacer = Pacer::new(0, rate(1_000_000_000), 1448, 44, Pacing::Precise);
        assert_eq!(pacer.batch, 5, "five datagrams of 11.6 µs cover 50 µs");
        assert_eq!(
            Pacer::new(0, rate(100_000_000_000), 1448, 44, Pacing::Precise).batch,
            44
        );
    }

    #[test]
    fn oversleeping_does_not_change_the_mean_rate() {
        for bps in [1_000_000, 10_000_000, 100_000_000, 1_000_000_000_u64] {
            let mut pacer = Pacer::new(0, rate(bps), 1448, 44, Pacing::Precise);
            run(&mut pacer, 10_000_000_000, 70_000);
            let sent = pacer.sent as f64 * 1448.0 * 8.0 / 10.0;
            assert!((sent / bps as f64 - 1.0).abs() < 0.002, "{bps}: {sent}");
        }
    }

    #[test]
    fn another_rate_holds_from_the_next_datagram_on() {
        let mut pacer = Pacer::new(0, rate(8_000_000), 1000, 44, Pacing::Precise);
        let mut left = run(&mut pacer, 9_500_000, 0);
        pacer.change_rate(rate(4_000_000), 1000);
        let mut now = 9_500_000;
        while left.len() < 13 {
            match pacer.next(now) {
                NextDeparture::Wait(at) => now = at,
                NextDeparture::Send(count) => {
                    pacer.departed(now, count);
                    left.push(now);
                }
            }
        }
        let ms: Vec<u64> = left.iter().map(|at| at / 1_000_000).collect();
        assert_eq!(ms, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14]);
        assert_eq!(pacer.spacing().slipped_us, 0.0);
    }

    #[test]
    fn a_sender_that_fell_behind_catches_up_at_twice_the_rate_at_most() {
        let mut pacer = Pacer::new(0, rate(100_000_000), 1448, 44, Pacing::Precise);
        run(&mut pacer, 1_000_000, 0);
        let mut now = 21_000_000;
        let mut gaps = Vec::new();
        let mut last = None;
        while now < 60_000_000 {
            match pacer.next(now) {
                NextDeparture::Wait(at) => now = at,
                NextDeparture::Send(count) => {
                    pacer.departed(now, count);
                    if let Some(last) = last.replace(now) {
                        gaps.push(now - last);
                    }
                }
            }
        }
        assert!(
            gaps.iter().all(|gap| *gap >= 57_900),
            "never closer than half a gap"
        );
        assert_eq!(pacer.sent, 518, "at 60 ms the schedule is met again");
    }

    #[test]
    fn a_burst_that_takes_several_calls_keeps_the_rate() {
        for (burst, max) in [(100, 44), (100, 1), (7, 3), (10, 44)] {
            let mut pacer =
                Pacer::new(0, rate(1_000_000_000), 1448, max, Pacing::Precise).with_bursts(burst);
            let mut now = 0;
            while now < 100_000_000 {
                match pacer.next(now) {
                    NextDeparture::Wait(at) => now = at,
                    NextDeparture::Send(due) => {
                        pacer.departed(now, due.min(max));
                        now += 10;
                    }
                }
            }
            let bits = pacer.sent * 1448 * 8;
            let burst_bits = u64::from(burst) * 1448 * 8;
            assert!(
                bits.abs_diff(100_000_000) <= burst_bits,
                "{burst} by {max}: {bits}"
            );
            let departures = pacer.spacing().departures;
            assert!(departures.abs_diff(pacer.sent / u64::from(burst.max(5))) <= 1);
        }
    }

    #[test]
    fn a_lag_of_more_than_a_second_is_given_up_and_reported() {
        let mut pacer = Pacer::new(0, rate(1_000_000), 1448, 44, Pacing::Precise);
        assert_eq!(pacer.next(5_000_000_000), NextDeparture::Send(1));
        pacer.departed(5_000_000_000, 1);
        assert!(matches!(pacer.next(5_000_000_001), NextDeparture::Wait(_)));
        assert!((pacer.spacing().slipped_us - 5e6).abs() < 1.0);
    }

    /// Runs a balanced pacer whose sender sleeps until each departure and wakes up `late_ns` after it.
    fn sleep_through(
        pacer: &mut Pacer,
        from_ns: u64,
        until_ns: u64,
        late_ns: u64,
    ) -> Vec<(u64, u32)> {
        let mut now = from_ns;
        let mut left = Vec::new();
        while now < until_ns {
            match pacer.next(now) {
                NextDeparture::Wait(at) => {
                    now = at + late_ns;
                    pacer.adapt_to(late_ns as f64);
                }
                NextDeparture::Send(count) => {
                    pacer.departed(now, count);
                    left.push((now, count));
                }
            }
        }
        left
    }

    #[test]
    fn balanced_departures_keep_the_mean_rate_however_late_the_sender_wakes_up() {
        for bps in [1_000_000, 10_000_000, 100_000_000, 1_000_000_000_u64] {
            for late_ns in [0, 15_000, 70_000, 300_000] {
                let mut pacer = Pacer::new(0, rate(bps), 1448, 44, Pacing::Balanced);
                sleep_through(&mut pacer, 0, 10_000_000_000, late_ns);
                let sent = pacer.sent as f64 * 1448.0 * 8.0 / 10.0;
                let error = (sent / bps as f64 - 1.0).abs();
                assert!(error < 0.002, "{bps} bit/s, {late_ns} ns: {sent}");
            }
        }
    }

    #[test]
    fn balanced_departures_are_as_large_as_the_wake_up_error_asks_for() {
        let batch = |bps, late_ns| {
            let mut pacer = Pacer::new(0, rate(bps), 1448, 44, Pacing::Balanced);
            pacer.adapt_to(late_ns);
            pacer.batch
        };
        assert_eq!(batch(10_000_000, 20_000.0), 1, "1.2 ms");
        assert_eq!(batch(40_000_000, 20_000.0), 2, "579 µs");
        assert_eq!(batch(100_000_000, 20_000.0), 4, "463 µs");
        assert_eq!(batch(1_000_000_000, 20_000.0), 4, "46 µs");
        assert_eq!(batch(1_000_000_000, 60_000.0), 8, "93 µs");
        assert_eq!(batch(100_000_000_000, 60_000.0), 44, "as the kernel takes");
    }

    #[test]
    fn a_balanced_sender_that_fell_behind_catches_up_at_twice_the_rate_at_most() {
        let mut pacer = Pacer::new(0, rate(100_000_000), 1448, 44, Pacing::Balanced);
        sleep_through(&mut pacer, 0, 1_000_000, 0);
        let left = sleep_through(&mut pacer, 21_000_000, 60_000_000, 0);
        for pair in left.windows(2) {
            let [(earlier, count), (later, _)] = pair else {
                panic!("a window of two");
            };
            let allowed = u64::from(*count) * 57_920;
            assert!(later - earlier + 1 >= allowed, "{pair:?}");
        }
        assert!(
            pacer.sent.abs_diff(518) < u64::from(pacer.batch),
            "at 60 ms the schedule is met again: {}",
            pacer.sent
        );
    }
}
