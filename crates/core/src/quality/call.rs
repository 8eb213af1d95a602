//! What a call over the path sounds like: the E-model.

use super::probe::ProbeSummary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rating of a call without delay and loss, with every other parameter at its default. Source: ITU-T G.107 (06/2015), section 7.7.
const DEFAULT_RATING: f64 = 93.2;
/// The equipment impairment of G.711, and its robustness against loss with concealment. Source: ITU-T G.113 (11/2007), appendix I.
const EQUIPMENT: f64 = 0.0;
const ROBUSTNESS: f64 = 25.1;
/// The delay at which the model begins to count, ms. Source: ITU-T G.107, equation (7-27).
const FREE_DELAY_MS: f64 = 100.0;
/// The delay beyond which the model is not validated, ms. Source: ITU-T G.107, table 2 (range of the absolute delay).
const MAX_DELAY_MS: f64 = 500.0;
/// The loss beyond which it is not. Source: ITU-T G.107, table 2 (range of the packet-loss probability).
const MAX_LOSS: f64 = 0.2;
/// The time that a packet of speech takes to fill.
const PACKET_MS: f64 = 20.0;

/// A call of G.711 with concealment of losses, in packets of 20 ms, with an adaptive jitter buffer: it waits for the 95th percentile of the round
/// trips (the maximum, of fewer than 59 probes), and plays more slowly where a packet is later.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallQuality {
    /// The delay from mouth to ear, ms: half of the round trip that the jitter buffer waits for, and a packet.
    pub mouth_to_ear_ms: f64,
    /// The share of the packets that are lost.
    pub loss: f64,
    /// The rating factor R, 0 to 100.
    pub rating: f64,
    /// The mean opinion score (MOS-CQE), 1 to 4.5.
    pub mos: f64,
    /// `true` where delay and loss lie within what the model is validated for: up to 500 ms and 20 %.
    pub is_in_range: bool,
}

impl CallQuality {
    /// That of a call beside these probes; `None` without any.
    #[must_use]
    pub fn beside(probes: &ProbeSummary) -> Option<Self> {
        if probes.sent == 0 {
            return None;
        }
        let waited_us = probes.p95_us.unwrap_or(probes.max_us);
        let lost = probes.lost as f64 / probes.sent as f64;
        Some(Self::of(waited_us / 2e3 + PACKET_MS, lost))
    }

    /// That of a delay from mouth to ear, ms, and a share of packets lost at random.
    ///
    /// `R = 93.2 − Idd − Ie,eff`, without echo. Source: ITU-T G.107 (06/2015), equations (7-27) to (7-29), and annex B for the score.
    #[must_use]
    pub fn of(mouth_to_ear_ms: f64, loss: f64) -> Self {
        let loss_percent = loss.clamp(0.0, 1.0) * 100.0;
        let equipment = EQUIPMENT + (95.0 - EQUIPMENT) * loss_percent / (loss_percent + ROBUSTNESS);
        let rating =
            (DEFAULT_RATING - delay_impairment(mouth_to_ear_ms) - equipment).clamp(0.0, 100.0);
        Self {
            mouth_to_ear_ms,
            loss,
            rating,
            mos: mos(rating),
            is_in_range: mouth_to_ear_ms <= MAX_DELAY_MS && loss <= MAX_LOSS,
        }
    }

    /// What its users say. Source: ITU-T G.107, annex B, table B.1.
    #[must_use]
    pub const fn words(&self) -> &'static str {
        match self.rating {
            90.0.. => "very satisfied",
            80.0.. => "satisfied",
            70.0.. => "some users dissatisfied",
            60.0.. => "many users dissatisfied",
            _ => "nearly all users dissatisfied",
        }
    }
}

/// `Idd` of a delay, ms. Source: ITU-T G.107, equations (7-27) and (7-28).
fn delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= FREE_DELAY_MS {
        return 0.0;
    }
    let x = (delay_ms / FREE_DELAY_MS).log2();
    let root = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// The mean opinion score of a rating. Source: ITU-T G.107, annex B, equation (B-4).
fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        return 1.0;
    }
    if rating >= 100.0 {
        return 4.5;
    }
    1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6
}

#[cfg(test)]
mod tests {
    use super::super::ProbeKind;
    use super::*;

    fn near(a: f64, b: f64, within: f64) {
        assert!((a - b).abs() <= within, "{a} is not {b}");
    }

    #[test]
    fn scores_are_those_of_the_recommendation() {
        // G.107 annex B, table B.1: the lower limits of the categories.
        for (rating, score) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            near(mos(rating), score, 0.01);
        }
        // Every parameter at its default: 93.2, 4.41.
        let best = CallQuality::of(0.0, 0.0);
        near(best.rating, 93.2, 1e-9);
        near(best.mos, 4.41, 0.005);
        assert_eq!(best.words(), "very satisfied");
        assert_eq!((mos(0.0), mos(100.0)), (1.0, 4.5));
    }

    #[test]
    fn delay_counts_from_100_ms_on_and_loss_at_once() {
        near(delay_impairment(100.0), 0.0, 1e-9);
        // G.114 figure 1, which is this formula: about 90 at 150 ms, 82 at 250 ms, 50 to 60 at 400 to 500 ms.
        let at = |ms| CallQuality::of(ms, 0.0).rating;
        assert!(
            at(150.0) > 88.0 && (78.0..87.0).contains(&at(250.0)),
            "{}",
            at(250.0)
        );
        assert!(at(500.0) < at(400.0) && (50.0..70.0).contains(&at(500.0)));
        // Ie,eff of 1 % with G.113's value: 95/(1 + 25.1).
        near(CallQuality::of(0.0, 0.01).rating, 93.2 - 95.0 / 26.1, 1e-6);
        let worst = CallQuality::of(5000.0, 1.0);
        assert!(worst.rating >= 0.0 && worst.mos >= 1.0 && !worst.is_in_range);
    }

    #[test]
    fn the_jitter_buffer_waits_for_most_of_the_packets() {
        let trip = |nth: u32| Some(40_000.0 + f64::from(nth) * 100.0);
        let mut trips: Vec<Option<f64>> = (0..400).map(trip).collect();
        let call = |trips: &[Option<f64>]| {
            let probes = ProbeSummary::of_trips(ProbeKind::Udp, trips, 0.95);
            CallQuality::beside(&probes.unwrap()).unwrap()
        };
        near(call(&trips).mouth_to_ear_ms, 78.0 / 2.0 + 20.0, 0.2);
        near(call(&trips).loss, 0.0, 1e-9);
        trips.extend([None; 100]);
        near(call(&trips).loss, 0.2, 1e-9);
        // Of a few the longest counts.
        near(call(&trips[..20]).mouth_to_ear_ms, 41.9 / 2.0 + 20.0, 0.01);
    }
}
