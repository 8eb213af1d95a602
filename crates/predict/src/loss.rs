//! What congestion control makes of loss: Mathis, PFTK, and CUBIC with its Reno-friendly region.

use super::ceilings::{Ceiling, Ceilings, Term};
use super::efficiency::tcp_wire;
use super::window::window_ceiling;
use caudal_core::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};
use std::time::Duration;

/// The constant of CUBIC's growth, segments per s³ (RFC 9438 section 4.1).
const CUBIC_C: f64 = 0.4;
/// What CUBIC keeps of its window after a loss (RFC 9438 section 4.6).
const CUBIC_BETA: f64 = 0.7;

/// How the receiver acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    /// Every segment, as Linux senders make of what they count in bytes (RFC 3465).
    EverySegment,
    /// Every second segment, counted in acknowledgements (RFC 1122 section 4.2.3.2).
    EverySecond,
}

impl Acknowledged {
    /// Segments an acknowledgement stands for.
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
/// segments an acknowledgement: a constant of 1.22 or 0.87. `None` outside that range and for a zero `rtt`.
///
/// Source: Mathis et al., "The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm", 1997.
#[must_use]
pub fn mathis(mss: u32, rtt: Duration, loss: f64, acknowledged: Acknowledged) -> Option<BitRate> {
    let segments = reno_window(loss)? / acknowledged.segments().sqrt();
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

/// The mean window of CUBIC in its own region under random loss, in segments.
///
/// `(C·(3+β)/(4·(1−β)))^¼ · (rtt/loss)^¾` = 1.054·(rtt/loss)^¾ with the rtt in seconds; `None` for a loss outside
/// (0, 1) and a zero `rtt`. Source: RFC 9438 section 5.1 with C = 0.4, β = 0.7.
#[must_use]
pub fn cubic_window(rtt: Duration, loss: f64) -> Option<f64> {
    let factor = (CUBIC_C * (3.0 + CUBIC_BETA) / (4.0 * (1.0 - CUBIC_BETA))).powf(0.25);
    let rtt = rtt.as_secs_f64();
    (is_loss(loss) && rtt > 0.0).then(|| factor * (rtt / loss).powf(0.75))
}

/// The goodput of CUBIC under random loss: the larger of its own and of its Reno-friendly window.
///
/// `None` for a loss outside (0, 1) and a zero `rtt`. Source: RFC 9438 sections 4.3 and 5.1.
#[must_use]
pub fn cubic(mss: u32, rtt: Duration, loss: f64) -> Option<BitRate> {
    let segments = cubic_window(rtt, loss)?.max(reno_window(loss)?);
    window_rate(segments, mss, rtt)
}

/// The goodput of Reno under loss with its retransmission timeouts.
///
/// `min(Wm/rtt, 1/(rtt·√(2bp/3) + T0·min(1, 3·√(3bp/8))·p·(1+32p²)))` segments a second, for a loss `p` in (0, 1), the
/// largest window `Wm` in segments (`None` for no limit), the timeout `T0`. `None` for a loss outside (0, 1) and a
/// zero `rtt`. Source: Padhye, Firoiu, Towsley and Kurose, "Modeling TCP Throughput", 1998; RFC 5348 section 3.1.
#[must_use]
pub fn pftk(
    mss: u32,
    rtt: Duration,
    loss: f64,
    acknowledged: Acknowledged,
    timeout: Duration,
    largest_window: Option<f64>,
) -> Option<BitRate> {
    let (round, t0, b, p) = (
        rtt.as_secs_f64(),
        timeout.as_secs_f64(),
        acknowledged.segments(),
        loss,
    );
    if !is_loss(p) || round <= 0.0 {
        return None;
    }
    let waiting = t0 * (3.0 * (3.0 * b * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    let segments = 1.0 / (round * (2.0 * b * p / 3.0).sqrt() + waiting);
    let most = largest_window.map_or(f64::INFINITY, |window| window / round);
    BitRate::from_f64(segments.min(most) * f64::from(mss) * 8.0)
}

fn is_loss(loss: f64) -> bool {
    loss > 0.0 && loss < 1.0
}

fn window_rate(segments: f64, mss: u32, rtt: Duration) -> Option<BitRate> {
    let rtt = rtt.as_secs_f64();
    (rtt > 0.0).then_some(())?;
    BitRate::from_f64(segments * f64::from(mss) * 8.0 / rtt)
}

/// The congestion control whose answer to loss is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Reno and NewReno: half the window at a loss.
    Reno,
    /// CUBIC.
    Cubic,
}

impl Congestion {
    /// The model for a congestion control of this name; `None` for those that do not answer to loss by these rules.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "reno" | "newreno" => Some(Self::Reno),
            "cubic" => Some(Self::Cubic),
            _ => None,
        }
    }
}

/// The ceiling of loss for a congestion control, `flows` of them together; `None` where no model applies.
#[must_use]
pub fn loss_ceiling(
    congestion: Congestion,
    mss: u32,
    rtt: Duration,
    loss: f64,
    flows: u32,
) -> Option<Ceiling> {
    let (each, why, source) = match congestion {
        Congestion::Reno => {
            let each = mathis(mss, rtt, loss, Acknowledged::EverySegment)?;
            let why = format!(
                "Reno: 8 × {mss} / {} × √(1.5 / {}) = {}",
                time(rtt),
                digits(loss),
                rate(each)
            );
            (each, why, "Mathis et al. 1997")
        }
        Congestion::Cubic => {
            let each = cubic(mss, rtt, loss)?;
            let (own, friendly) = (cubic_window(rtt, loss)?, reno_window(loss)?);
            let why = format!(
                "CUBIC: the larger of 1.054·({}/{})^¾ = {} and √(1.5/{}) = {} segments, × 8 × {mss} / {} = {}",
                time(rtt),
                digits(loss),
                digits(own),
                digits(loss),
                digits(friendly),
                time(rtt),
                rate(each)
            );
            (each, why, "RFC 9438 sections 4.3 and 5.1")
        }
    };
    let all = BitRate::from_bps(each.bps().saturating_mul(u64::from(flows.max(1))));
    let why = if flows > 1 {
        format!("{why}; × {flows} flows = {}", rate(all))
    } else {
        why
    };
    Some(Ceiling {
        term: Term::Loss,
        rate: all,
        why,
        assumes: "losses at random and independent of one another, a steady state, no timeouts"
            .to_owned(),
        source: source.to_owned(),
        tolerance: Tolerance::FACTOR_TWO,
    })
}

/// What is asked about loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossQuestion {
    /// The share of segments lost.
    pub loss: f64,
    /// The round-trip time.
    pub rtt: Duration,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// The segment's payload; by the framing when `None`.
    pub mss: Option<u32>,
    /// The line rate, where it bounds too.
    pub rate: Option<BitRate>,
    /// The window, where it bounds too.
    pub window: Option<ByteCount>,
    /// What surrounds the payload.
    pub framing: Framing,
}

/// What each model expects under that loss. Empty for a loss outside (0, 1), and for a zero round trip.
#[must_use]
pub fn loss(question: &LossQuestion) -> Vec<Prediction> {
    let LossQuestion {
        loss: p,
        rtt,
        timeout,
        framing,
        ..
    } = *question;
    let mss = question
        .mss
        .unwrap_or_else(|| framing.tcp_payload_per_frame());
    let mut predictions = Vec::new();
    for (name, title, acknowledged, k) in [
        ("mathis", "Reno, Mathis", Acknowledged::EverySegment, "3/2"),
        (
            "mathis_delayed_ack",
            "Reno, Mathis, delayed ACK",
            Acknowledged::EverySecond,
            "3/4",
        ),
    ] {
        if let Some(value) = mathis(mss, rtt, p, acknowledged) {
            predictions.push(
                model(name, title, value)
                    .detail(format!("8·MSS/RTT·√({k})/√p"))
                    .assumes("random independent losses, no timeouts, window and link larger; breaks where losses come in bursts, above about 1 %, or with a small window")
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
    for (name, title, acknowledged, b) in [
        ("pftk", "Reno, PFTK", Acknowledged::EverySegment, 1),
        (
            "pftk_delayed_ack",
            "Reno, PFTK, delayed ACK",
            Acknowledged::EverySecond,
            2,
        ),
    ] {
        let largest = question
            .window
            .map(|window| window.as_f64() / f64::from(mss.max(1)));
        if let Some(value) = pftk(mss, rtt, p, acknowledged, timeout, largest) {
            predictions.push(
                model(name, title, value)
                    .detail(format!("with timeouts, b = {b}"))
                    .assumes(format!("losses at the end of a round go together, a timeout of {}; Linux recovers with SACK and RACK and times out less", time(timeout)))
                    .source("Padhye et al., Modeling TCP Throughput, 1998; RFC 5348 section 3.1")
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
    predictions.extend(cubic_predictions(mss, rtt, p));
    for (name, title, congestion) in [
        ("tcp_goodput_reno", "TCP goodput, Reno", Congestion::Reno),
        ("tcp_goodput_cubic", "TCP goodput, CUBIC", Congestion::Cubic),
    ] {
        let mut ceilings = Ceilings::new();
        if let Some(line) = question.rate {
            ceilings.push(tcp_wire(&framing, line));
        }
        if let Some(window) = question.window {
            ceilings.extend(window_ceiling(window, rtt, 1));
        }
        ceilings.extend(loss_ceiling(congestion, mss, rtt, p, 1));
        predictions.extend(ceilings.prediction(name, title));
    }
    predictions
}

fn model(name: &str, title: &str, value: BitRate) -> Prediction {
    Prediction::new(name, title, value.as_f64(), Unit::BitPerSecond)
        .bound_by(Term::Loss.name())
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
            .assumes("random independent losses, a steady state; breaks where the queue, not chance, makes the losses, and in short tests")
            .source("RFC 9438 sections 4.3 and 5.1")
            .step(format!("its own window 1.054·({}/{})^¾ = {} segments", time(rtt), digits(p), digits(own)))
            .step(format!("its Reno-friendly window √(1.5/{}) = {} segments", digits(p), digits(friendly)))
            .step(format!("the larger × 8 × {mss} / {} = {}: {region}", time(rtt), rate(value))),
    );
    predictions
}

impl Extend<Ceiling> for Ceilings {
    fn extend<I: IntoIterator<Item = Ceiling>>(&mut self, ceilings: I) {
        ceilings.into_iter().for_each(|ceiling| self.push(ceiling));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1448;
    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// In Mbit/s with the digits of the published table.
    fn megabits(value: Option<BitRate>, decimals: usize) -> String {
        format!("{:.decimals$}", value.unwrap().as_f64() / 1e6)
    }

    #[test]
    fn the_models_give_what_their_table_says() {
        use Acknowledged::{EverySecond, EverySegment};
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
        use Acknowledged::{EverySecond, EverySegment};
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
        // Below the Reno-friendly window, so that one counts.
        assert_eq!(megabits(cubic(MSS, MS(20), p), 2), "70.94");
        assert_eq!(format!("{:.1}", cubic_window(MS(100), p).unwrap()), "187.4");
        assert_eq!(megabits(cubic(MSS, MS(100), p), 2), "21.71");
        assert_eq!(megabits(mathis(MSS, MS(100), p, EverySegment), 2), "14.19");
    }

    #[test]
    fn what_is_no_loss_predicts_nothing() {
        for p in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
            assert_eq!(mathis(MSS, MS(50), p, Acknowledged::EverySegment), None);
            assert_eq!(
                pftk(MSS, MS(50), p, Acknowledged::EverySegment, MS(200), None),
                None
            );
            assert_eq!(cubic(MSS, MS(50), p), None);
        }
        assert_eq!(cubic(MSS, Duration::ZERO, 0.1), None);
        assert_eq!(
            mathis(MSS, Duration::ZERO, 0.1, Acknowledged::EverySegment),
            None
        );
    }

    #[test]
    fn the_lowest_ceiling_binds() {
        let question = LossQuestion {
            loss: 1e-4,
            rtt: MS(20),
            timeout: MS(200),
            mss: None,
            rate: Some(BitRate::from_bps(10_000_000)),
            window: None,
            framing: Framing::default(),
        };
        let bound = |question: &LossQuestion| {
            let all = loss(question);
            let one = all
                .iter()
                .find(|one| one.name == "tcp_goodput_cubic")
                .unwrap();
            (one.shown(), one.binding.clone().unwrap())
        };
        assert_eq!(
            bound(&question),
            ("9.415 Mbit/s".to_owned(), "wire".to_owned())
        );
        let free = LossQuestion {
            rate: None,
            ..question
        };
        assert_eq!(bound(&free), ("70.94 Mbit/s".to_owned(), "loss".to_owned()));
        let narrow = LossQuestion {
            window: Some(ByteCount::new(10_000)),
            ..free
        };
        assert_eq!(bound(&narrow), ("4 Mbit/s".to_owned(), "window".to_owned()));
    }

    proptest! {
        #[test]
        fn more_loss_never_predicts_more(p in 1e-7..0.99_f64, more in 1.0..10.0_f64, us in 1_u64..10_000_000) {
            let (rtt, worse) = (Duration::from_micros(us), (p * more).min(0.999));
            for acknowledged in [Acknowledged::EverySegment, Acknowledged::EverySecond] {
                prop_assert!(mathis(MSS, rtt, worse, acknowledged) <= mathis(MSS, rtt, p, acknowledged));
                prop_assert!(pftk(MSS, rtt, worse, acknowledged, MS(200), None) <= pftk(MSS, rtt, p, acknowledged, MS(200), None));
            }
            prop_assert!(cubic(MSS, rtt, worse) <= cubic(MSS, rtt, p));
        }

        #[test]
        fn timeouts_and_delayed_acknowledgements_never_help(p in 1e-7..0.99_f64, us in 1_u64..10_000_000) {
            use Acknowledged::{EverySecond, EverySegment};
            let rtt = Duration::from_micros(us);
            prop_assert!(pftk(MSS, rtt, p, EverySegment, MS(200), None) <= mathis(MSS, rtt, p, EverySegment));
            prop_assert!(mathis(MSS, rtt, p, EverySecond) <= mathis(MSS, rtt, p, EverySegment));
            prop_assert!(cubic(MSS, rtt, p) >= mathis(MSS, rtt, p, EverySegment));
        }
    }
}
