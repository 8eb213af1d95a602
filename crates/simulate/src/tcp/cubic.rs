//! CUBIC with HyStart, as in Linux.

use caudal_link::time::SimTime;

use super::window::Window;

/// β of RFC 9438 section 4.6 in 1024ths: 0.7.
const BETA: u64 = 717;
const UNIT: u64 = 1024;
/// C of RFC 9438 section 4.2, 0.4, in 1024ths.
const CUBE_SCALE: u64 = 410;
/// Segments acknowledged for each by which Reno with the same β would grow, in eighths: 8·(1 + β)/(3·(1 − β)).
const RENO_FRIENDLY_SCALE: u64 = 8 * (UNIT + BETA) / 3 / (UNIT - BETA);
/// The kernel's clock for CUBIC: ticks of 4 ms, as in a kernel with `CONFIG_HZ=250`.
const TICKS_PER_SECOND: u64 = 250;
const TICK_NS: u64 = NS_PER_SECOND / TICKS_PER_SECOND;
/// The ticks for which the growth of an unchanged window is not updated.
const UPDATE_TICKS: u64 = TICKS_PER_SECOND / 32;
const NS_PER_SECOND: u64 = 1_000_000_000;
/// Maximum time in the cube, in 1024ths of a second: 100 days.
const MAX_UNITS: u64 = 1 << 33;

/// Parameters of HyStart in Linux net/ipv4/tcp_cubic.c.
mod hystart {
    /// The smallest window that ends slow start.
    pub(super) const MIN_CWND: u64 = 16;
    /// The largest gap between acknowledgements of one train.
    pub(super) const TRAIN_GAP_NS: u64 = 2_000_000;
    /// The time that bursts of the sender may add to a train.
    pub(super) const ACK_DELAY_NS: u64 = 1_000_000;
    /// Minimum delay samples of a round trip for its minimum to count.
    pub(super) const SAMPLES: u32 = 8;
    /// The range of the delay increase that ends slow start.
    pub(super) const MIN_INCREASE_NS: u64 = 4_000_000;
    pub(super) const MAX_INCREASE_NS: u64 = 16_000_000;
}

/// HyStart: detects the end of slow start from trains of acknowledgements and from increasing delay.
///
/// Source: Ha and Rhee, "Taming the elephants: New TCP slow start", 2011; `hystart_update()` in Linux
/// net/ipv4/tcp_cubic.c.
#[derive(Debug, Clone, Default)]
struct HyStart {
    has_ended: bool,
    round_start: SimTime,
    last_ack: SimTime,
    /// The sequence number at which this round trip ends.
    round_end: u64,
    /// The minimum delay in this round trip.
    round_min_ns: Option<u64>,
    samples: u32,
}

/// The state of CUBIC (RFC 9438).
#[derive(Debug, Clone, Default)]
pub(crate) struct Cubic {
    /// W_max.
    last_max_cwnd: u64,
    last_cwnd: u64,
    /// The tick of the last update.
    last_tick: Option<u64>,
    /// The start of the cubic function; `None` before the first acknowledgement after a loss.
    epoch: Option<SimTime>,
    /// The window at the plateau (`bic_origin_point` in Linux).
    origin_cwnd: u64,
    /// K in 1024ths of a second.
    k: u64,
    /// The number of acknowledged segments after which the window grows by one (`cnt` in Linux).
    acks_per_growth: u64,
    acknowledged: u64,
    /// The window that Reno would have, W_est.
    reno_cwnd: u64,
    min_delay_ns: Option<u64>,
    hystart: HyStart,
}

/// A round-trip time sample from an acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DelaySample {
    pub(crate) now: SimTime,
    pub(crate) rtt_ns: u64,
    /// Everything before this sequence number has been acknowledged.
    pub(crate) acknowledged: u64,
    /// Everything before this sequence number has been sent.
    pub(crate) next: u64,
}

const fn tick(now: SimTime) -> u64 {
    now.as_ns() / TICK_NS
}

impl Cubic {
    /// The slow-start threshold after a loss at this window (RFC 9438 sections 4.6 and 4.7).
    pub(crate) fn threshold(&mut self, window: &Window) -> u64 {
        self.epoch = None;
        self.last_max_cwnd = if window.cwnd < self.last_max_cwnd {
            // Fast convergence releases bandwidth for other flows.
            window.cwnd * (UNIT + BETA) / (2 * UNIT)
        } else {
            window.cwnd
        };
        (window.cwnd * BETA / UNIT).max(2)
    }

    /// Resets all state after a timeout.
    pub(crate) fn on_timeout(&mut self, now: SimTime, next: u64) {
        *self = Self::default();
        self.hystart.restart(now, next);
    }

    /// Grows the window after `acknowledged` segments were acknowledged.
    pub(crate) fn grow(&mut self, window: &mut Window, acknowledged: u64, now: SimTime) {
        let mut remaining = acknowledged;
        if window.in_slow_start() {
            remaining = window.slow_start(acknowledged);
            if remaining == 0 {
                return;
            }
        }
        self.update(window.cwnd, remaining, now);
        window.grow(self.acks_per_growth, remaining);
    }

    /// Updates the growth of the window (RFC 9438 sections 4.2 to 4.5; `bictcp_update()` in Linux).
    fn update(&mut self, cwnd: u64, acknowledged: u64, now: SimTime) {
        self.acknowledged += acknowledged;
        let elapsed = self.last_tick.map(|last| tick(now).saturating_sub(last));
        if self.last_cwnd == cwnd && elapsed.is_some_and(|ticks| ticks <= UPDATE_TICKS) {
            return;
        }
        // Within a tick, only the window of Reno is updated.
        if self.epoch.is_none() || elapsed != Some(0) {
            self.last_cwnd = cwnd;
            self.last_tick = Some(tick(now));
            self.follow_curve(cwnd, acknowledged, now);
        }
        self.follow_reno(cwnd);
        self.acks_per_growth = self.acks_per_growth.max(2);
    }

    /// Sets the growth so that the window is on the cubic curve a round trip from now.
    fn follow_curve(&mut self, cwnd: u64, acknowledged: u64, now: SimTime) {
        let epoch = *self.epoch.get_or_insert_with(|| {
            self.acknowledged = acknowledged;
            self.reno_cwnd = cwnd;
            if self.last_max_cwnd <= cwnd {
                self.k = 0;
                self.origin_cwnd = cwnd;
            } else {
                let cube = (self.last_max_cwnd - cwnd) as f64 * UNIT as f64 / CUBE_SCALE as f64;
                // A window below 2^40 has a cube root far below 2^53.
                self.k = (libm::cbrt(cube) * UNIT as f64) as u64;
                self.origin_cwnd = self.last_max_cwnd;
            }
            now
        });
        let round_trip = self.min_delay_ns.unwrap_or(0).div_ceil(TICK_NS);
        let ticks = tick(now).saturating_sub(tick(epoch)) + round_trip;
        let time = ticks.saturating_mul(UNIT) / TICKS_PER_SECOND;
        let distance = time.abs_diff(self.k).min(MAX_UNITS);
        let cube = u128::from(distance).pow(3);
        // 10 bits of the scale and 30 of the cubed unit of time.
        let change = u64::try_from((u128::from(CUBE_SCALE) * cube) >> 40).unwrap_or(u64::MAX);
        let target = if time < self.k {
            self.origin_cwnd.saturating_sub(change)
        } else {
            self.origin_cwnd.saturating_add(change)
        };
        self.acks_per_growth = if target > cwnd {
            cwnd / (target - cwnd)
        } else {
            100 * cwnd
        };
        if self.last_max_cwnd == 0 {
            self.acks_per_growth = self.acks_per_growth.min(20);
        }
    }

    /// Grows no slower than Reno (RFC 9438 section 4.3).
    fn follow_reno(&mut self, cwnd: u64) {
        let step = ((cwnd * RENO_FRIENDLY_SCALE) >> 3).max(1);
        // Linux takes a step while more than one step's worth is left.
        let steps = self.acknowledged.saturating_sub(1) / step;
        self.acknowledged -= steps * step;
        self.reno_cwnd += steps;
        if self.reno_cwnd > cwnd {
            self.acks_per_growth = self.acks_per_growth.min(cwnd / (self.reno_cwnd - cwnd));
        }
    }

    /// Takes a delay sample, which may end slow start.
    pub(crate) fn on_delay(&mut self, window: &mut Window, sample: &DelaySample) {
        // Right after a recovery, delays still show the queue before it.
        let is_recent = |epoch: SimTime| sample.now.ns_since(epoch) < NS_PER_SECOND;
        if self.epoch.is_some_and(is_recent) {
            return;
        }
        let delay = sample.rtt_ns.max(1);
        let min_delay = self.min_delay_ns.map_or(delay, |min| min.min(delay));
        self.min_delay_ns = Some(min_delay);
        if !self.hystart.has_ended
            && window.in_slow_start()
            && window.cwnd >= hystart::MIN_CWND
            && self.hystart.ends_slow_start(sample, min_delay)
        {
            self.hystart.has_ended = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// `true` when HyStart has ended slow start.
    #[cfg(test)]
    pub(crate) const fn has_ended_slow_start(&self) -> bool {
        self.hystart.has_ended
    }

    /// Moves the epoch past an idle time (RFC 9438 section 5.8).
    pub(crate) fn on_idle(&mut self, idle_ns: u64, now: SimTime) {
        if let Some(epoch) = &mut self.epoch {
            *epoch = epoch.plus_ns(idle_ns).min(now);
        }
    }
}

impl HyStart {
    fn restart(&mut self, now: SimTime, next: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.round_end = next;
        self.round_min_ns = None;
        self.samples = 0;
    }

    fn ends_slow_start(&mut self, sample: &DelaySample, min_delay_ns: u64) -> bool {
        let now = sample.now;
        if sample.acknowledged > self.round_end {
            self.restart(now, sample.next);
        }
        let mut ends = false;
        if now.ns_since(self.last_ack) <= hystart::TRAIN_GAP_NS {
            self.last_ack = now;
            // Without pacing, a train of half a round trip fills the path.
            let threshold = (min_delay_ns + hystart::ACK_DELAY_NS) / 2;
            ends = now.ns_since(self.round_start) > threshold;
        }
        let round_min_ns = self
            .round_min_ns
            .map_or(sample.rtt_ns, |min| min.min(sample.rtt_ns));
        self.round_min_ns = Some(round_min_ns);
        if self.samples < hystart::SAMPLES {
            self.samples += 1;
            return ends;
        }
        let increase = (min_delay_ns / 8).clamp(hystart::MIN_INCREASE_NS, hystart::MAX_INCREASE_NS);
        ends || round_min_ns > min_delay_ns + increase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges the whole window every `rtt_ms` for `rounds` round trips.
    fn run(cubic: &mut Cubic, window: &mut Window, from_ms: u64, rtt_ms: u64, rounds: u64) {
        for round in 0..rounds {
            let now = SimTime::from_ns((from_ms + round * rtt_ms) * 1_000_000);
            for _ in 0..window.cwnd {
                cubic.grow(window, 1, now);
            }
        }
    }

    #[test]
    fn the_window_returns_to_the_last_maximum_after_k_and_grows_slowly_around_it() {
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
    fn a_small_window_grows_as_with_reno_of_the_same_decrease() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(20);
        window.ssthresh = cubic.threshold(&window);
        window.cwnd = window.ssthresh;
        run(&mut cubic, &mut window, 1, 20, 100);
        // RFC 9438 section 4.3: 3·(1 − β)/(1 + β) = 0.53 segments a round trip.
        assert!((60..=72).contains(&window.cwnd), "{}", window.cwnd);
    }

    #[test]
    fn a_second_loss_at_a_smaller_window_lowers_the_maximum_further() {
        let mut cubic = Cubic::default();
        cubic.threshold(&Window::new(100));
        cubic.threshold(&Window::new(80));
        assert_eq!(cubic.last_max_cwnd, 80 * (1024 + 717) / 2048);
    }

    #[test]
    fn hystart_ends_slow_start_when_the_delay_increases() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(20);
        let ack = |cubic: &mut Cubic, window: &mut Window, at_ms: u64, rtt_ms: u64| {
            let sample = DelaySample {
                now: SimTime::from_ns(at_ms * 1_000_000),
                rtt_ns: rtt_ms * 1_000_000,
                acknowledged: at_ms,
                next: at_ms + 1000,
            };
            cubic.on_delay(window, &sample);
        };
        for at in 0..20 {
            ack(&mut cubic, &mut window, 100 + 3 * at, 50);
        }
        assert!(!cubic.has_ended_slow_start());
        for at in 0..20 {
            ack(&mut cubic, &mut window, 2000 + 3 * at, 60);
        }
        assert!(cubic.has_ended_slow_start() && window.ssthresh == 20);
    }

    #[test]
    fn hystart_ends_slow_start_after_a_train_of_half_a_round_trip() {
        let mut cubic = Cubic::default();
        let mut window = Window::new(50);
        for step in 0..60_u64 {
            let sample = DelaySample {
                now: SimTime::from_ns(1_000_000_000 + step * 1_000_000),
                rtt_ns: 50_000_000,
                acknowledged: 1 + step,
                next: 1000,
            };
            cubic.on_delay(&mut window, &sample);
            assert_eq!(cubic.has_ended_slow_start(), step >= 26, "{step}");
        }
    }
}
