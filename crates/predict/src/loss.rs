//! The goodput under random loss: Mathis, PFTK, and CUBIC with its Reno-friendly region.

use std::time::Duration;

use caudal_analysis::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};

use crate::efficiency::tcp_wire_bound;
use crate::rate_bounds::{LimitingFactor, RateBound, RateBounds};
use crate::window::window_bound;

/// The constant C of CUBIC's window growth, segments per s³ (RFC 9438 section 4.1).
const CUBIC_C: f64 = 0.4;
/// CUBIC's multiplicative decrease factor β (RFC 9438 section 4.6).
const CUBIC_BETA: f64 = 0.7;

/// The acknowledgements that the model's sender counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckPolicy {
    /// One for every segment, as with appropriate byte counting in Linux senders (RFC 3465).
    EverySegment,
    /// One for every second segment: delayed acknowledgements (RFC 1122 section 4.2.3.2).
    EverySecond,
}

impl AckPolicy {
    /// The number of segments per acknowledgement.
    const fn segments(self) -> f64 {
        match self {
            Self::EverySegment => 1.0,
            Self::EverySecond => 2.0,
        }
    }
}

/// The goodput at which random loss holds a Reno flow.
///
/// `8·mss/rtt · √(3/(2·b·loss))` for a `loss` that is the fraction of segments lost, above 0 and below 1, and `b`
/// segments per acknowledgement: a constant of 1.22 or 0.87. `None` outside that range and for a zero `rtt`.
///
/// Source: Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997.
#[must_use]
pub fn mathis(mss: u32, rtt: Duration, loss: f64, acks: AckPolicy) -> Option<BitRate> {
    let segments = reno_window(loss)? / acks.segments().sqrt();
    window_rate(segments, mss, rtt)
}

/// The mean window of a Reno flow under random loss, in segments: `√(3/2)/√loss`.
///
/// `None` for a loss outside (0, 1). Also the window of CUBIC in its Reno-friendly region. Source: Mathis et al. 1997;
/// RFC 9438 section 4.3.
#[must_use]
pub fn reno_window(loss: f64) -> Option<f64> {
    is_loss(loss).then(|| (1.5 / loss).sqrt())
}

/// The mean window of CUBIC outside its Reno-friendly region under random loss, in segments.
///
/// `(C·(3+β)/(4·(1−β)))^¼ · (rtt/loss)^¾` = 1.054·(rtt/loss)^¾ with the rtt in seconds; `None` for a loss outside
/// (0, 1) and a zero `rtt`. Source: RFC 9438 section 5.1 with C = 0.4, β = 0.7.
#[must_use]
pub fn cubic_window(rtt: Duration, loss: f64) -> Option<f64> {
    let factor = (CUBIC_C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))).powf(0.25);
    let rtt = rtt.as_secs_f64();
    (is_loss(loss) && rtt > 0.0).then(|| factor * (rtt / loss).powf(0.75))
}

/// The goodput of CUBIC under random loss: from the larger of its own and its Reno-friendly window.
///
/// `None` for a loss outside (0, 1) and a zero `rtt`. Source: RFC 9438 sections 4.3 and 5.1.
#[must_use]
pub fn cubic(mss: u32, rtt: Duration, loss: f64) -> Option<BitRate> {
    let segments = cubic_window(rtt, loss)?.max(reno_window(loss)?);
    window_rate(segments, mss, rtt)
}

/// The goodput of Reno under loss, including retransmission timeouts.
///
/// `min(Wm/rtt, 1/(rtt·√(2bp/3) + T0·min(1, 3·√(3bp/8))·p·(1+32p²)))` segments per second, for a loss `p` in (0, 1), the
/// maximum window `Wm` in segments (`None` for no limit), the timeout `T0`. `None` for a loss outside (0, 1) and a
/// zero `rtt`. Source: Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical
/// Validation", 1998; RFC 5348 section 3.1.
#[must_use]
pub fn pftk(
    mss: u32,
    rtt: Duration,
    loss: f64,
    acks: AckPolicy,
    timeout: Duration,
    max_window: Option<f64>,
) -> Option<BitRate> {
    let (rtt_s, t0, b, p) = (
        rtt.as_secs_f64(),
        timeout.as_secs_f64(),
        acks.segments(),
        loss,
    );
    if !is_loss(p) || rtt_s <= 0.0 {
        return None;
    }
    let timeouts = t0 * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    let segments = 1.0 / (rtt_s * (2.0 * b * p / 3.0).sqrt() + timeouts);
    let max_rate = max_window.map_or(f64::INFINITY, |window| window / rtt_s);
    BitRate::from_f64(segments.min(max_rate) * f64::from(mss) * 8.0)
}

fn is_loss(loss: f64) -> bool {
    loss > 0.0 && loss < 1.0
}

fn window_rate(segments: f64, mss: u32, rtt: Duration) -> Option<BitRate> {
    let rtt = rtt.as_secs_f64();
    (rtt > 0.0).then_some(())?;
    BitRate::from_f64(segments * f64::from(mss) * 8.0 / rtt)
}

/// The response of a congestion control to loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossResponse {
    /// Reno and NewReno, which halve the window at a loss.
    Reno,
    /// CUBIC.
    Cubic,
}

impl LossResponse {
    /// The response of the congestion control named `name`; `None` for those without such a response.
    #[must_use]
    pub fn for_congestion_control(name: &str) -> Option<Self> {
        match name {
            "reno" | "newreno" => Some(Self::Reno),
            "cubic" => Some(Self::Cubic),
            _ => None,
        }
    }
}

/// The bound that loss sets on `flows` flows together; `None` where no model applies.
#[must_use]
pub fn loss_bound(
    response: LossResponse,
    mss: u32,
    rtt: Duration,
    loss: f64,
    flows: u32,
) -> Option<RateBound> {
    let (each, derivation, source) = match response {
        LossResponse::Reno => {
            let each = mathis(mss, rtt, loss, AckPolicy::EverySegment)?;
            let derivation = format!(
                "Reno: 8 × {mss} / {} × √(1.5 / {}) = {}",
                time(rtt),
                digits(loss),
                rate(each)
            );
            (each, derivation, "Mathis et al. 1997")
        }
        LossResponse::Cubic => {
            let each = cubic(mss, rtt, loss)?;
            let (own, friendly) = (cubic_window(rtt, loss)?, reno_window(loss)?);
            let derivation = format!(
                "CUBIC: the larger of 1.054·({}/{})^¾ = {} and √(1.5/{}) = {} segments, × 8 × {mss} / {} = {}",
                time(rtt),
                digits(loss),
                digits(own),
                digits(loss),
                digits(friendly),
                time(rtt),
                rate(each)
            );
            (each, derivation, "RFC 9438 sections 4.3 and 5.1")
        }
    };
    let all = BitRate::from_bps(each.bps().saturating_mul(u64::from(flows.max(1))));
    let derivation = if flows > 1 {
        format!("{derivation}; × {flows} flows = {}", rate(all))
    } else {
        derivation
    };
    Some(RateBound {
        factor: LimitingFactor::Loss,
        rate: all,
        derivation,
        assumes: "random independent losses, a steady state, no timeouts".to_owned(),
        source: source.to_owned(),
        tolerance: Tolerance::FACTOR_TWO,
    })
}

/// The parameters of a path with random loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossParameters {
    /// The share of segments lost.
    pub loss: f64,
    /// The round-trip time.
    pub rtt: Duration,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// The payload of a full segment; that of the framing when `None`.
    pub mss: Option<u32>,
    /// The line rate, where it limits too.
    pub rate: Option<BitRate>,
    /// The window, where it limits too.
    pub window: Option<ByteCount>,
    /// The framing of the payload.
    pub framing: Framing,
}

/// Predicts the goodput by each model. Empty for a loss outside (0, 1), and for a zero round-trip time.
#[must_use]
pub fn predict_loss(parameters: &LossParameters) -> Vec<Prediction> {
    let LossParameters {
        loss: p,
        rtt,
        framing,
        ..
    } = *parameters;
    let mss = parameters
        .mss
        .unwrap_or_else(|| framing.tcp_payload_per_frame());
    let mut predictions = mathis_predictions(mss, rtt, p);
    predictions.extend(pftk_predictions(parameters, mss));
    predictions.extend(cubic_predictions(mss, rtt, p));
    for (name, title, response) in [
        ("tcp_goodput_reno", "TCP goodput, Reno", LossResponse::Reno),
        (
            "tcp_goodput_cubic",
            "TCP goodput, CUBIC",
            LossResponse::Cubic,
        ),
    ] {
        let mut ceilings = RateBounds::new();
        if let Some(line) = parameters.rate {
            ceilings.push(tcp_wire_bound(&framing, line));
        }
        if let Some(window) = parameters.window {
            ceilings.extend(window_bound(window, rtt, 1));
        }
        ceilings.extend(loss_bound(response, mss, rtt, p, 1));
        predictions.extend(ceilings.prediction(name, title));
    }
    predictions
}

fn mathis_predictions(mss: u32, rtt: Duration, p: f64) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for (name, title, acks, k) in [
        ("mathis", "Reno, Mathis", AckPolicy::EverySegment, "3/2"),
        (
            "mathis_delayed_ack",
            "Reno, Mathis, delayed ACK",
            AckPolicy::EverySecond,
            "3/4",
        ),
    ] {
        if let Some(value) = mathis(mss, rtt, p, acks) {
            predictions.push(
                model(name, title, value)
                    .detail(format!("8·MSS/RTT·√({k})/√p"))
                    .assumes("random independent losses, no timeouts, window and link larger; not valid where losses come in bursts, above about 1 %, or with a small window")
                    .source("Mathis et al., The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm, 1997")
                    .step(format!(
                        "8 × {mss} / {} × √({k}) / √{} = {}",
                        time(rtt),
                        digits(p),
                        rate(value)
                    )),
            );
        }
    }
    predictions
}

fn pftk_predictions(parameters: &LossParameters, mss: u32) -> Vec<Prediction> {
    let LossParameters {
        loss: p,
        rtt,
        timeout,
        ..
    } = *parameters;
    let mut predictions = Vec::new();
    for (name, title, acks, b) in [
        ("pftk", "Reno, PFTK", AckPolicy::EverySegment, 1),
        (
            "pftk_delayed_ack",
            "Reno, PFTK, delayed ACK",
            AckPolicy::EverySecond,
            2,
        ),
    ] {
        let max_window = parameters
            .window
            .map(|window| window.as_f64() / f64::from(mss.max(1)));
        if let Some(value) = pftk(mss, rtt, p, acks, timeout, max_window) {
            predictions.push(
                model(name, title, value)
                    .detail(format!("with timeouts, b = {b}"))
                    .assumes(format!("losses at the end of a round go together, a timeout of {}; Linux recovers with SACK and RACK and times out less", time(timeout)))
                    .source("Padhye et al., Modeling TCP Throughput: A Simple Model and its Empirical Validation, 1998; RFC 5348 section 3.1")
                    .step(format!(
                        "1 / (RTT·√(2bp/3) + T0·min(1, 3·√(3bp/8))·p·(1+32p²)) with RTT = {}, T0 = {}, b = {b}, p = {} : {} segments/s",
                        time(rtt),
                        time(timeout),
                        digits(p),
                        digits(value.as_f64() / (8.0 * f64::from(mss.max(1))))
                    ))
                    .step(format!("× 8 × {mss} = {}", rate(value))),
            );
        }
    }
    predictions
}

fn model(name: &str, title: &str, value: BitRate) -> Prediction {
    Prediction::new(name, title, value.as_f64(), Unit::BitPerSecond)
        .bound_by(LimitingFactor::Loss.name())
        .within(Tolerance::FACTOR_TWO)
}

fn cubic_predictions(mss: u32, rtt: Duration, p: f64) -> Vec<Prediction> {
    let (Some(own), Some(friendly), Some(value)) =
        (cubic_window(rtt, p), reno_window(p), cubic(mss, rtt, p))
    else {
        return Vec::new();
    };
    let region = if own > friendly {
        "its own region"
    } else {
        "Reno-friendly region"
    };
    let windows = [
        (
            "cubic_window",
            "CUBIC's own window",
            own,
            "1.054·(RTT/p)^¾",
            "RFC 9438 section 5.1",
        ),
        (
            "reno_window",
            "Reno's window",
            friendly,
            "√(1.5/p)",
            "Mathis et al. 1997; RFC 9438 section 4.3",
        ),
    ];
    let mut predictions: Vec<Prediction> = windows
        .into_iter()
        .map(|(name, title, segments, formula, source)| {
            Prediction::new(name, title, segments, Unit::Segments)
                .detail(formula)
                .assumes("random independent losses, a steady state")
                .source(source)
                .within(Tolerance::FACTOR_TWO)
                .step(format!(
                    "{formula} with RTT = {}, p = {}: {}",
                    time(rtt),
                    digits(p),
                    digits(segments)
                ))
        })
        .collect();
    predictions.insert(
        0,
        model("cubic", "CUBIC", value)
            .detail(region)
            .assumes("random independent losses, a steady state; not valid where a queue causes the losses, and in short tests")
            .source("RFC 9438 sections 4.3 and 5.1")
            .step(format!("its own window 1.054·({}/{})^¾ = {} segments", time(rtt), digits(p), digits(own)))
            .step(format!("its Reno-friendly window √(1.5/{}) = {} segments", digits(p), digits(friendly)))
            .step(format!("the larger × 8 × {mss} / {} = {}: {region}", time(rtt), rate(value))),
    );
    predictions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1448;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// The rate in Mbit/s with the digits of the published table.
    fn megabits(value: Option<BitRate>, decimals: usize) -> String {
        format!("{:.decimals$}", value.unwrap().as_f64() / 1e6)
    }

    #[test]
    fn the_models_match_the_published_table() {
        use AckPolicy::{EverySecond, EverySegment};
        let table = [
            (50, 1e-2, ["2.84", "2.01", "1.80", "2.84"], 2, [3.5, 12.2]),
            (50, 1e-3, ["8.97", "6.34", "6.27", "8.97"], 2, [19.8, 38.7]),
            (
                50,
                1e-4,
                ["28.4", "20.1", "20.0", "28.4"],
                1,
                [111.0, 122.0],
            ),
            (
                100,
                1e-5,
                ["44.9", "31.7", "31.7", "122"],
                1,
                [1054.0, 387.0],
            ),
        ];
        for (rtt, p, rates, decimals, windows) in table {
            let rtt = MS(rtt);
            let every = mathis(MSS, rtt, p, EverySegment);
            let second = mathis(MSS, rtt, p, EverySecond);
            let padhye = pftk(MSS, rtt, p, EverySecond, MS(250), None);
            assert_eq!(
                [every, second, padhye].map(|value| megabits(value, decimals)),
                [rates[0], rates[1], rates[2]]
            );
            let places = if rates[3].contains('.') { decimals } else { 0 };
            assert_eq!(megabits(cubic(MSS, rtt, p), places), rates[3]);
            let found = [cubic_window(rtt, p).unwrap(), reno_window(p).unwrap()];
            for (found, expected) in found.into_iter().zip(windows) {
                let unit = if expected < 100.0 { 0.05 } else { 0.5 };
                assert!(
                    (found - expected).abs() <= unit,
                    "{found} is not {expected}"
                );
            }
        }
    }

    #[test]
    fn the_models_at_20_and_100_ms() {
        use AckPolicy::{EverySecond, EverySegment};
        let p = 1e-4;
        assert_eq!(megabits(mathis(MSS, MS(20), p, EverySegment), 2), "70.94");
        assert_eq!(
            megabits(pftk(MSS, MS(20), p, EverySegment, MS(200), None), 2),
            "70.78"
        );
        assert_eq!(
            megabits(pftk(MSS, MS(20), p, EverySecond, MS(200), None), 2),
            "50.05"
        );
        assert_eq!(format!("{:.2}", cubic_window(MS(20), p).unwrap()), "56.05");
        let own = window_rate(cubic_window(MS(20), p).unwrap(), MSS, MS(20));
        assert_eq!(megabits(own, 2), "32.46");
        // Its own window is below the Reno-friendly one, which counts.
        assert_eq!(megabits(cubic(MSS, MS(20), p), 2), "70.94");
        assert_eq!(format!("{:.1}", cubic_window(MS(100), p).unwrap()), "187.4");
        assert_eq!(megabits(cubic(MSS, MS(100), p), 2), "21.71");
        assert_eq!(megabits(mathis(MSS, MS(100), p, EverySegment), 2), "14.19");
    }

    #[test]
    fn a_loss_outside_its_range_predicts_nothing() {
        for p in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
            assert_eq!(mathis(MSS, MS(50), p, AckPolicy::EverySegment), None);
            assert_eq!(
                pftk(MSS, MS(50), p, AckPolicy::EverySegment, MS(200), None),
                None
            );
            assert_eq!(cubic(MSS, MS(50), p), None);
        }
        assert_eq!(cubic(MSS, Duration::ZERO, 0.1), None);
        assert_eq!(
            mathis(MSS, Duration::ZERO, 0.1, AckPolicy::EverySegment),
            None
        );
    }

    #[test]
    fn the_lowest_bound_is_binding() {
        let parameters = LossParameters {
            loss: 1e-4,
            rtt: MS(20),
            timeout: MS(200),
            mss: None,
            rate: Some(BitRate::from_bps(10_000_000)),
            window: None,
            framing: Framing::default(),
        };
        let bound = |parameters: &LossParameters| {
            let all = predict_loss(parameters);
            let one = all
                .iter()
                .find(|one| one.name == "tcp_goodput_cubic")
                .unwrap();
            (one.unit_value().to_string(), one.binding.clone().unwrap())
        };
        assert_eq!(
            bound(&parameters),
            ("9.415 Mbit/s".to_owned(), "wire".to_owned())
        );
        let free = LossParameters {
            rate: None,
            ..parameters
        };
        assert_eq!(bound(&free), ("70.94 Mbit/s".to_owned(), "loss".to_owned()));
        let narrow = LossParameters {
            window: Some(ByteCount::new(10_000)),
            ..free
        };
        assert_eq!(bound(&narrow), ("4 Mbit/s".to_owned(), "window".to_owned()));
    }

    proptest! {
        #[test]
        fn more_loss_never_increases_the_goodput(p in 1e-7..0.99_f64, more in 1.0..10.0_f64, us in 1_u64..10_000_000) {
            let (rtt, worse) = (Duration::from_micros(us), (p * more).min(0.999));
            for acks in [AckPolicy::EverySegment, AckPolicy::EverySecond] {
                prop_assert!(mathis(MSS, rtt, worse, acks) <= mathis(MSS, rtt, p, acks));
                prop_assert!(pftk(MSS, rtt, worse, acks, MS(200), None) <= pftk(MSS, rtt, p, acks, MS(200), None));
            }
            prop_assert!(cubic(MSS, rtt, worse) <= cubic(MSS, rtt, p));
        }

        #[test]
        fn timeouts_and_delayed_acknowledgements_never_increase_the_goodput(p in 1e-7..0.99_f64, us in 1_u64..10_000_000) {
            use AckPolicy::{EverySecond, EverySegment};
            let rtt = Duration::from_micros(us);
            prop_assert!(pftk(MSS, rtt, p, EverySegment, MS(200), None) <= mathis(MSS, rtt, p, EverySegment));
            prop_assert!(mathis(MSS, rtt, p, EverySecond) <= mathis(MSS, rtt, p, EverySegment));
            prop_assert!(cubic(MSS, rtt, p) >= mathis(MSS, rtt, p, EverySegment));
        }
    }
}
