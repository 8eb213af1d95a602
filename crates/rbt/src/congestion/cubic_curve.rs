//! CUBIC's window as a function of time, in integers: the same on every machine.
//!
//! Source: RFC 9438 sections 4.2 and 4.3.

use super::window::{MAX_CONGESTION_WINDOW, NOMINAL_DATAGRAM_BYTES};

/// The constant C = 0.4 segments/s³, with a nominal segment, in bytes/s³ as a fraction (RFC 9438 section 5).
const C_NUMERATOR: u128 = 2 * NOMINAL_DATAGRAM_BYTES as u128;
const C_DENOMINATOR: u128 = 5;
/// Cubic microseconds in a cubic second.
const CUBIC_US: u128 = 1_000_000_000_000_000_000;
/// Maximum distance from the plateau that is computed: beyond it every window is at its limit.
const MAX_OFFSET_US: u64 = 100_000_000_000;
/// The additive increase that makes Reno with a decrease to 0.7 as fast as with one to 0.5:
/// 3 (1 − β) / (1 + β) = 9/17 (RFC 9438 section 4.3). The RFC goes on with 1 above the window of the latest reaction; Linux does not
/// (`bictcp_update`), and beside its flows that would take more than their share.
const ALPHA_NUMERATOR: u64 = 9;
const ALPHA_DENOMINATOR: u64 = 17;

/// One epoch of congestion avoidance: from a reaction to congestion, or the end of slow start, to the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CubicEpoch {
    start_ns: u64,
    /// `W_max`: the window of the plateau, bytes.
    plateau: u64,
    /// `K`: the time from the start to the plateau, µs.
    k_us: u64,
    /// `W_est`: the window Reno would have, bytes.
    reno: u64,
    /// The part of Reno's growth that is no whole byte.
    reno_rest: u64,
}

impl CubicEpoch {
    /// An epoch that begins with `window` and aims for the plateau `max_window`.
    pub fn begin(start_ns: u64, window: u64, max_window: u64) -> Self {
        let plateau = max_window.max(window);
        Self {
            start_ns,
            plateau,
            k_us: time_to_grow_us(plateau - window),
            reno: window,
            reno_rest: 0,
        }
    }

    /// Takes a period out in which the window was not used (RFC 9438 section 5.8).
    pub fn skip(&mut self, ns: u64) {
        self.start_ns = self.start_ns.saturating_add(ns);
    }

    /// `W_cubic` at a time, bytes.
    pub fn window_at(&self, now_ns: u64) -> u64 {
        let elapsed_us = now_ns.saturating_sub(self.start_ns) / 1000;
        let change = growth_over(elapsed_us.abs_diff(self.k_us));
        if elapsed_us < self.k_us {
            self.plateau.saturating_sub(change)
        } else {
            self.plateau.saturating_add(change)
        }
    }

    /// `W_est` after `bytes`, at most a window, were acknowledged while the window was `window`.
    pub fn grow_reno(&mut self, bytes: u64, window: u64) -> u64 {
        let window = window.clamp(1, MAX_CONGESTION_WINDOW);
        let amount = bytes.min(window) * NOMINAL_DATAGRAM_BYTES * ALPHA_NUMERATOR + self.reno_rest;
        self.reno = self
            .reno
            .saturating_add(amount / (ALPHA_DENOMINATOR * window));
        self.reno_rest = amount % (ALPHA_DENOMINATOR * window);
        self.reno
    }
}

/// The time in which the curve rises by `bytes` to its plateau: ∛(bytes / C), µs.
fn time_to_grow_us(bytes: u64) -> u64 {
    let bytes = u128::from(bytes.min(MAX_CONGESTION_WINDOW));
    cube_root(bytes * CUBIC_US * C_DENOMINATOR / C_NUMERATOR)
}

/// The change of the window within `offset_us` of the plateau: C × offset³, bytes.
fn growth_over(offset_us: u64) -> u64 {
    let offset = u128::from(offset_us.min(MAX_OFFSET_US));
    let change = offset * offset * offset * C_NUMERATOR / (C_DENOMINATOR * CUBIC_US);
    u64::try_from(change).unwrap_or(u64::MAX)
}

/// The largest integer whose cube is at most `value`.
fn cube_root(value: u128) -> u64 {
    let mut root: u128 = 0;
    for bit in (0..=42).rev() {
        let candidate = root | (1 << bit);
        if candidate * candidate * candidate <= value {
            root = candidate;
        }
    }
    u64::try_from(root).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: u64 = 1_000_000_000;
    const MSS: f64 = 1448.0;

    /// The formula of RFC 9438 in floating point.
    fn formula(t_s: f64, start: f64, plateau: f64) -> f64 {
        let k = ((plateau - start) / MSS / 0.4).cbrt();
        plateau + 0.4 * MSS * (t_s - k).powi(3)
    }

    #[test]
    fn the_time_to_the_plateau_is_the_cube_root_of_the_loss_over_c() {
        // 100 segments, 30 of them to regain: ∛(30 / 0.4) = 4.217 s.
        let epoch = CubicEpoch::begin(0, 70 * 1448, 100 * 1448);
        assert_eq!(epoch.k_us, 4_217_163);
    }

    #[test]
    fn an_epoch_without_a_plateau_ahead_of_it_grows_at_once() {
        let epoch = CubicEpoch::begin(S, 144_800, 0);
        assert_eq!(epoch.k_us, 0);
        assert_eq!(epoch.window_at(S), 144_800);
        assert_eq!(epoch.window_at(11 * S), 144_800 + 400 * 1448);
    }

    #[test]
    fn a_period_without_use_of_the_window_does_not_move_the_curve() {
        let mut epoch = CubicEpoch::begin(0, 70 * 1448, 100 * 1448);
        let before = epoch.window_at(2 * S);
        epoch.skip(60 * S);
        assert_eq!(epoch.window_at(62 * S), before);
    }

    #[test]
    fn renos_window_grows_by_nine_seventeenths_of_a_segment_a_round() {
        let window = 70 * 1448;
        let mut epoch = CubicEpoch::begin(0, window, 100 * 1448);
        let rounds = [(); 3].map(|()| {
            let before = epoch.reno;
            for _ in 0..10 {
                epoch.grow_reno(window / 10, window);
            }
            epoch.reno - before
        });
        assert_eq!(rounds, [766, 767, 766]);
    }

    proptest! {
        #[test]
        fn the_curve_is_the_formulas(
            start in 2_896u64..1 << 32,
            rise in 0u64..1 << 32,
            ms in 0u64..1_000_000,
        ) {
            let plateau = start + rise;
            let epoch = CubicEpoch::begin(7, start, plateau);
            let expected = formula(ms as f64 / 1e3, start as f64, plateau as f64).max(0.0);
            let seen = epoch.window_at(7 + ms * 1_000_000) as f64;
            prop_assert!((seen - expected).abs() <= 1448.0 + expected * 1e-4, "{seen} {expected}");
        }

        #[test]
        fn a_cube_root_is_the_largest_integer(root in 0u64..1 << 42, below in 0u64..1 << 20) {
            let cube = u128::from(root).pow(3);
            prop_assert_eq!(cube_root(cube), root);
            prop_assert!(cube_root(cube.saturating_sub(u128::from(below))) <= root);
        }

        #[test]
        fn no_input_overflows(
            now in any::<u64>(), start in any::<u64>(), window in any::<u64>(), max in any::<u64>(),
            bytes in any::<u64>(), skipped in any::<u64>(),
        ) {
            let mut epoch = CubicEpoch::begin(start, window, max);
            epoch.skip(skipped);
            epoch.window_at(now);
            epoch.grow_reno(bytes, window);
        }
    }
}
