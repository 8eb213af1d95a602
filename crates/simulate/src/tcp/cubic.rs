//! CUBIC as Linux does it, with HyStart.

use caudal_link::moment::Moment;

use super::window::Window;
use crate::span::ns_between;

/// β of RFC 9438 section 4.6 in 1024ths: 0.7.
const BETA: u64 = 717;
const UNIT: u64 = 1024;
/// C of RFC 9438 section 4.2, 0.4, in 1024ths.
const CUBE_SCALE: u64 = 410;
/// Segments acknowledged for each that Reno with the same β would grow by, in eighths: 8·(1 + β)/(3·(1 − β)).
const FRIENDLY_SCALE: u64 = 8 * (UNIT + BETA) / 3 / (UNIT - BETA);
/// The kernel's clock for CUBIC: ticks of 4 ms, those of a kernel with `CONFIG_HZ=250`.
const TICKS_PER_SECOND: u64 = 250;
const TICK_NS: u64 = SECOND_NS / TICKS_PER_SECOND;
/// An unchanged window is not reckoned with again before so many ticks are over.
const PATIENCE_TICKS: u64 = TICKS_PER_SECOND / 32;
const SECOND_NS: u64 = 1_000_000_000;
/// No time is longer than this in the cube: 100 days.
const LONGEST_UNITS: u64 = 1 << 33;

/// Parameters of HyStart in Linux net/ipv4/tcp_cubic.c.
mod hystart {
    /// Below this window slow start goes on.
    pub(super) const LOW_CWND: u64 = 16;
    /// Acknowledgements closer than this belong to one train.
    pub(super) const TRAIN_GAP_NS: u64 = 2_000_000;
    /// What bursts of the sender may add to a train.
    pub(super) const ACK_DELAY_NS: u64 = 1_000_000;
    pub(super) const SAMPLES: u32 = 8;
    pub(super) const DELAY_LEAST_NS: u64 = 4_000_000;
    pub(super) const DELAY_MOST_NS: u64 = 16_000_000;
}

/// When slow start has gone far enough, told by trains of acknowledgements and by growing delay.
///
/// Source: Ha and Rhee, "Taming the elephants: New TCP slow start", 2011; `hystart_update()` in Linux
/// net/ipv4/tcp_cubic.c.
#[derive(Debug, Clone, Default)]
struct HyStart {
    found: bool,
    round_start: Moment,
    last_ack: Moment,
    round_end: u64,
    least_ns: Option<u64>,
    samples: u32,
}

/// The state of CUBIC (RFC 9438).
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// W_max.
    last_max: u64,
    last_cwnd: u64,
    /// The tick in which the cubic function was last reckoned with.
    last_tick: Option<u64>,
    /// Since when the cubic function runs; `None` before the first acknowledgement after a loss.
    epoch: Option<Moment>,
    /// The window the plateau is at.
    origin: u64,
    /// K in 1024ths of a second.
    plateau_after: u64,
    /// Grow by one for this many acknowledged.
    every: u64,
    acknowledged: u64,
    /// The window Reno would have.
    friendly_cwnd: u64,
    least_delay_ns: Option<u64>,
    hystart: HyStart,
}

/// What an acknowledgement says about delay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelaySample {
    pub(crate) now: Moment,
    pub(crate) rtt_ns: u64,
    /// Everything before this was acknowledged.
    pub(crate) acknowledged: u64,
    /// Everything before this was sent.
    pub(crate) next: u64,
}

const fn tick(now: Moment) -> u64 {
    now.ns() / TICK_NS
}

impl Cubic {
    /// The threshold after a loss, remembering the window it happened at (RFC 9438 sections 4.6 and 4.7).
    pub(crate) fn threshold(&mut self, window: &Window) -> u64 {
        self.epoch = None;
        self.last_max = if window.cwnd < self.last_max {
            // Fast convergence leaves room for others.
            window.cwnd * (UNIT + BETA) / (2 * UNIT)
        } else {
            window.cwnd
        };
        (window.cwnd * BETA / UNIT).max(2)
    }

    /// Everything is forgotten after a timeout.
    pub(crate) fn collapse(&mut self, now: Moment, next: u64) {
        *self = Self::default();
        self.hystart.restart(now, next);
    }

    pub(crate) fn grow(&mut self, window: &mut Window, acknowledged: u64, now: Moment) {
        let mut left = acknowledged;
        if window.in_slow_start() {
            left = window.slow_start(acknowledged);
            if left == 0 {
                return;
            }
        }
        self.reckon(window.cwnd, left, now);
        window.grow(self.every, left);
    }

    /// How often the window grows (RFC 9438 sections 4.2 to 4.5; `bictcp_update()` in Linux).
    fn reckon(&mut self, cwnd: u64, acknowledged: u64, now: Moment) {
        self.acknowledged += acknowledged;
        let passed = self.last_tick.map(|last| tick(now).saturating_sub(last));
        if self.last_cwnd == cwnd && passed.is_some_and(|passed| passed <= PATIENCE_TICKS) {
            return;
        }
        // Within a tick only what Reno would have is looked at again.
        if self.epoch.is_none() || passed != Some(0) {
            self.last_cwnd = cwnd;
            self.last_tick = Some(tick(now));
            self.follow_curve(cwnd, acknowledged, now);
        }
        self.be_friendly(cwnd);
        self.every = self.every.max(2);
    }

    /// How often the window grows to be on the cubic curve a round trip from now.
    fn follow_curve(&mut self, cwnd: u64, acknowledged: u64, now: Moment) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acknowledged = acknowledged;
            self.friendly_cwnd = cwnd;
            if self.last_max <= cwnd {
                self.plateau_after = 0;
                self.origin = cwnd;
            } else {
                let cube = (self.last_max - cwnd) as f64 * UNIT as f64 / CUBE_SCALE as f64;
                // A window below 2^40 has a cube root far below 2^53.
                self.plateau_after = (libm::cbrt(cube) * UNIT as f64) as u64;
                self.origin = self.last_max;
            }
            now
        });
        let round_trip = self.least_delay_ns.unwrap_or(0).div_ceil(TICK_NS);
        let ticks = tick(now).saturating_sub(tick(epoch)) + round_trip;
        let time = ticks.saturating_mul(UNIT) / TICKS_PER_SECOND;
        let distance = time.abs_diff(self.plateau_after).min(LONGEST_UNITS);
        let cube = u128::from(distance).pow(3);
        // 10 bits of the scale and 30 of the cubed unit of time.
        let change = u64::try_from((u128::from(CUBE_SCALE) * cube) >> 40).unwrap_or(u64::MAX);
        let target = if time < self.plateau_after {
            self.origin.saturating_sub(change)
        } else {
            self.origin.saturating_add(change)
        };
        self.every = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max == 0 {
            self.every = self.every.min(20);
        }
    }

    /// Grows no slower than Reno would (RFC 9438 section 4.3).
    fn be_friendly(&mut self, cwnd: u64) {
        let step = ((cwnd * FRIENDLY_SCALE) >> 3).max(1);
        // Linux takes steps while more than one is left.
        let steps = self.acknowledged.saturating_sub(1) / step;
        self.acknowledged -= steps * step;
        self.friendly_cwnd += steps;
        if self.friendly_cwnd > cwnd {
            self.every = self.every.min(cwnd / (self.friendly_cwnd - cwnd));
        }
    }

    /// Takes note of a delay, which may end slow start.
    pub(crate) fn note_delay(&mut self, window: &mut Window, sample: &DelaySample) {
        // Right after a recovery delays tell of the queue before it.
        let settling = |epoch: Moment| ns_between(epoch, sample.now) < SECOND_NS;
        if self.epoch.is_some_and(settling) {
            return;
        }
        let delay = sample.rtt_ns.max(1);
        let least = self.least_delay_ns.map_or(delay, |least| least.min(delay));
        self.least_delay_ns = Some(least);
        if !self.hystart.found
            && window.in_slow_start()
            && window.cwnd >= hystart::LOW_CWND
            && self.hystart.ends_slow_start(sample, least)
        {
            self.hystart.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// Whether HyStart has ended slow start.
    #[cfg(test)]
    pub(crate) const fn has_left_slow_start(&self) -> bool {
        self.hystart.found
    }

    /// Moves the epoch past a time in which nothing was sent (RFC 9438 section 5.8).
    pub(crate) fn resume(&mut self, idle_ns: u64, now: Moment) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = crate::span::after(*epoch, idle_ns).min(now);
        }
    }
}

impl HyStart {
    fn restart(&mut self, now: Moment, next: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = next;
        self.least_ns = None;
        self.samples = 0;
    }

    fn ends_slow_start(&mut self, sample: &DelaySample, least_delay_ns: u64) -> bool {
        let now = sample.now;
        if sample.acknowledged > self.round_end {
            self.restart(now, sample.next);
        }
        let mut ends = false;
        if ns_between(self.last_ack, now) <= hystart::TRAIN_GAP_NS {
            self.last_ack = now;
            // Without pacing a train as long as half a round trip fills the path.
            let threshold = (least_delay_ns + hystart::ACK_DELAY_NS) / 2;
            ends = ns_between(self.round_start, now) > threshold;
        }
        let round_least = self
            .least_ns
            .map_or(sample.rtt_ns, |least| least.min(sample.rtt_ns));
        self.least_ns = Some(round_least);
        if self.samples < hystart::SAMPLES {
            self.samples += 1;
            return ends;
        }
        let more = (least_delay_ns / 8).clamp(hystart::DELAY_LEAST_NS, hystart::DELAY_MOST_NS);
        ends || round_least > least_delay_ns + more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window in avoidance, acknowledged as a whole every `rtt_ms` for `rounds` round trips.
    fn run(cubic: &mut Cubic, window: &mut Window, from_ms: u64, rtt_ms: u64, rounds: u64) {
        for round in 0..rounds {
            let now = Moment::from_ns((from_ms + round * rtt_ms) * 1_000_000);
            for _ in 0..window.cwnd {
                cubic.grow(window, 1, now);
            }
        }
    }

    #[test]
    fn the_window_returns_to_the_last_maximum_after_k_and_stays_there() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(1000);
        window.ssthresh = cubic.threshold(&window);
        window.cwnd = window.ssthresh;
        assert_eq!(window.cwnd, 700);
        // RFC 9438 figure 2: K = cbrt((W_max − cwnd)/C) = cbrt(300/0.4) = 9.09 s.
        run(&mut cubic, &mut window, 1, 100, 91);
        assert!((990..=1002).contains(&window.cwnd), "{}", window.cwnd);
        run(&mut cubic, &mut window, 9101, 100, 60);
        // 6 s after the plateau: 1000 + 0.4·6³.
        assert!((1070..=1095).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn a_small_window_grows_as_reno_with_the_same_decrease() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(20);
        window.ssthresh = cubic.threshold(&window);
        window.cwnd = window.ssthresh;
        run(&mut cubic, &mut window, 1, 20, 100);
        // RFC 9438 section 4.3: 3·(1 − β)/(1 + β) = 0.53 segments a round trip.
        assert!((60..=72).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn a_second_loss_at_a_smaller_window_leaves_more_room() {
        let mut cubic = Cubic::default();
        cubic.threshold(&Window::new(100));
        cubic.threshold(&Window::new(80));
        assert_eq!(cubic.last_max, 80 * (1024 + 717) / 2048);
    }

    #[test]
    fn hystart_leaves_slow_start_when_the_delay_grows() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(20);
        let ack = |cubic: &mut Cubic, window: &mut Window, at_ms: u64, rtt_ms: u64| {
            let sample = DelaySample {
                now: Moment::from_ns(at_ms * 1_000_000),
                rtt_ns: rtt_ms * 1_000_000,
                acknowledged: at_ms,
                next: at_ms + 1000,
            };
            cubic.note_delay(window, &sample);
        };
        for at in 0..20 {
            ack(&mut cubic, &mut window, 100 + 3 * at, 50);
        }
        assert!(!cubic.has_left_slow_start());
        for at in 0..20 {
            ack(&mut cubic, &mut window, 2000 + 3 * at, 60);
        }
        assert!(cubic.has_left_slow_start() && window.ssthresh == 20);
    }

    #[test]
    fn hystart_leaves_slow_start_after_a_train_of_half_a_round_trip() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(50);
        for step in 0..60_u64 {
            let sample = DelaySample {
                now: Moment::from_ns(1_000_000_000 + step * 1_000_000),
                rtt_ns: 50_000_000,
                acknowledged: 1 + step,
                next: 1000,
            };
            cubic.note_delay(&mut window, &sample);
            assert_eq!(cubic.has_left_slow_start(), step >= 26, "{step}");
        }
    }
}
