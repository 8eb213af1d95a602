//! The duplex of a path, decided.

use super::readings::{DuplexReadings, EachWay, EndErrors, LightRuns, LinkSide, RunLoss};
use crate::confidence::Confidence;
use caudal_core::units::BitRate;
use caudal_stats::wilson;

/// The loss of a run of one direction above which the path loses without any duplex problem.
const MAX_LOSS_ALONE: f64 = 0.001;
/// The minimum loss in a run of both directions that counts, and as a fraction of the load.
const MIN_LOSS_TOGETHER: f64 = 0.01;
const MIN_LOSS_OF_LOAD: f64 = 0.3;
/// The loss, in units of the load, above which collisions do not explain it: the model has 1.45 at a load of 40 %.
const MAX_LOSS_OF_LOAD: f64 = 2.0;
/// The datagrams of a run below which it says nothing.
const MIN_DATAGRAMS: u64 = 500;
/// The ratio of losses, small to large datagrams, below which a direction may be that from the half-duplex end, and above which it may
/// be the other. Collisions give 0.07 to 0.16 and 0.9; what is between leaves room for chance in two thousand datagrams.
const FALLS_WITH_SIZE: f64 = 0.35;
const STAYS_WITH_SIZE: f64 = 0.55;
/// The growth of loss when the load doubles that fits collisions.
const GROWTH: std::ops::Range<f64> = 1.4..3.0;
/// The ratio of goodputs together to alone up to which the medium is shared, and from which on it is not.
const SHARED: f64 = 0.55;
const NOT_SHARED: f64 = 0.8;
/// The ratio below which something besides sharing is wrong.
const MIN_SHARED: f64 = 0.3;
/// The ratio of the two directions' TCP goodputs that fits a mismatch.
const ASYMMETRIC: f64 = 10.0;
/// The interval at which losses are compared.
const CONFIDENCE: f64 = 0.95;

/// What a path is found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplexFinding {
    /// Both directions at once.
    Full,
    /// One direction at a time, known to both ends: half-duplex Ethernet, or a radio.
    MatchedHalf,
    /// One end of a link is half duplex and the other full.
    Mismatch {
        /// The half-duplex end, seen from the path's; `None` when the runs do not tell.
        half: Option<LinkSide>,
    },
    /// The readings do not tell.
    CannotTell,
}

/// What is said of the duplex of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplexStatement {
    /// The finding.
    pub finding: DuplexFinding,
    /// The confidence in it.
    pub confidence: Confidence,
    /// Why, in one sentence.
    pub reason: String,
}

impl DuplexStatement {
    /// The decision, from the conclusive evidence to the indirect.
    ///
    /// Interfaces of 1 Gbit/s and more at both ends of a path of more than 500 Mbit/s have no half duplex. Then counters of late
    /// collisions decide; then losses that appear only in both directions at once; then the sum of the saturating goodputs.
    #[must_use]
    pub fn from_readings(readings: &DuplexReadings) -> Self {
        if let Some(statement) = gigabit(readings) {
            return statement;
        }
        if let Some(statement) = from_counters(readings) {
            return statement;
        }
        match readings.light.map(|light| light_evidence(&light)) {
            Some(LightEvidence::LossTogether(loss)) => mismatch(readings, loss),
            Some(LightEvidence::Clean) => from_goodputs(readings, true),
            Some(LightEvidence::Nothing(cause)) => cannot_tell(&cause),
            None => from_goodputs(readings, false),
        }
    }

    /// `true` where it is not decided, and runs may decide it.
    #[must_use]
    pub fn needs_runs(&self) -> bool {
        self.finding == DuplexFinding::CannotTell
    }

    /// `true` for a link whose ends differ.
    #[must_use]
    pub const fn is_mismatch(&self) -> bool {
        matches!(self.finding, DuplexFinding::Mismatch { .. })
    }

    fn new(finding: DuplexFinding, confidence: Confidence, reason: String) -> Self {
        Self {
            finding,
            confidence,
            reason,
        }
    }
}

fn cannot_tell(cause: &str) -> DuplexStatement {
    let reason = format!("cannot tell, because {cause}");
    DuplexStatement::new(DuplexFinding::CannotTell, Confidence::Low, reason)
}

fn gigabit(readings: &DuplexReadings) -> Option<DuplexStatement> {
    let gigabit = BitRate::from_bps(1_000_000_000);
    let capacity = readings.capacity?;
    let rates = readings.interface_rates?.both();
    let fast = rates.iter().all(|rate| *rate >= gigabit);
    (fast && capacity > BitRate::from_bps(500_000_000)).then(|| {
        let reason = format!(
            "both interfaces run at 1 Gbit/s or more and the path carries {capacity}: half duplex does not exist there"
        );
        DuplexStatement::new(DuplexFinding::Full, Confidence::High, reason)
    })
}

/// Late collisions occur at a half-duplex end only, and not where the other end defers.
fn from_counters(readings: &DuplexReadings) -> Option<DuplexStatement> {
    let late = |errors: Option<EndErrors>| errors.map_or(0, |errors| errors.late_collisions);
    let (near, far) = (late(readings.near_errors), late(readings.far_errors));
    let (half, count, end) = match (near, far) {
        (0, 0) => return from_bad_frames(readings),
        (near, 0) => (Some(LinkSide::Near), near, "near"),
        (0, far) => (Some(LinkSide::Far), far, "far"),
        (near, far) => (None, near.saturating_add(far), "near and the far"),
    };
    Some(DuplexStatement::new(
        DuplexFinding::Mismatch { half },
        Confidence::High,
        format!(
            "the {end} end counted {count} late collisions, which a link that both ends know to be half duplex does not have"
        ),
    ))
}

/// A full-duplex end receives what is left of the frames that the half-duplex end broke off.
fn from_bad_frames(readings: &DuplexReadings) -> Option<DuplexStatement> {
    let broken = |errors: Option<EndErrors>| {
        errors
            .filter(|errors| errors.bad_frames_alone == 0)
            .map_or(0, |errors| errors.bad_frames_together)
    };
    let (near, far) = (broken(readings.near_errors), broken(readings.far_errors));
    let (half, count, end) = match (near, far) {
        (near, 0) if near > 0 => (LinkSide::Far, near, "near"),
        (0, far) if far > 0 => (LinkSide::Near, far, "far"),
        _ => return None,
    };
    Some(DuplexStatement::new(
        DuplexFinding::Mismatch { half: Some(half) },
        Confidence::High,
        format!(
            "the {end} end received {count} broken frames while both directions were busy, and none before"
        ),
    ))
}

/// What light runs show.
enum LightEvidence {
    /// No loss that counts.
    Clean,
    /// Loss in both directions at once only: its larger fraction.
    LossTogether(f64),
    /// Nothing, and why.
    Nothing(String),
}

fn light_evidence(light: &LightRuns) -> LightEvidence {
    let runs = light
        .alone
        .both()
        .into_iter()
        .chain(light.together.both())
        .collect::<Vec<RunLoss>>();
    if let Some(short) = runs.iter().find(|run| run.sent < MIN_DATAGRAMS) {
        return LightEvidence::Nothing(format!(
            "a run had {} datagrams, and it takes {MIN_DATAGRAMS}",
            short.sent
        ));
    }
    let fractions: Option<Vec<f64>> = runs.into_iter().map(RunLoss::fraction).collect();
    let Some(fractions) = fractions.filter(|_| light.load > 0.0 && light.load < 1.0) else {
        return LightEvidence::Nothing("losses or load are impossible".to_owned());
    };
    let alone = fractions[0].max(fractions[1]);
    let together = fractions[2].max(fractions[3]);
    let counts = (MIN_LOSS_OF_LOAD * light.load).max(MIN_LOSS_TOGETHER);
    if together < counts {
        return LightEvidence::Clean;
    }
    let stands_out = |alone: RunLoss, together: RunLoss| {
        let ends = wilson(alone.lost, alone.sent, CONFIDENCE).zip(wilson(
            together.lost,
            together.sent,
            CONFIDENCE,
        ));
        ends.is_some_and(|(alone, together)| together.low > alone.high)
    };
    let separate = stands_out(light.alone.forward, light.together.forward)
        || stands_out(light.alone.back, light.together.back);
    if alone >= MAX_LOSS_ALONE || !separate {
        return LightEvidence::Nothing(format!(
            "one direction alone loses {:.2} % as well: the path is congested or lossy",
            100.0 * alone
        ));
    }
    if together > MAX_LOSS_OF_LOAD * light.load {
        return LightEvidence::Nothing(format!(
            "both directions at once lose {:.1} % at a load of {:.0} %, which is more than collisions would take",
            100.0 * together,
            100.0 * light.load
        ));
    }
    LightEvidence::LossTogether(together)
}

fn mismatch(readings: &DuplexReadings, loss: f64) -> DuplexStatement {
    let grows = readings.doubled.and_then(|doubled| loss_together(&doubled));
    let grows = grows.map(|doubled| GROWTH.contains(&(doubled / loss)));
    if grows == Some(false) {
        return cannot_tell(
            "loss appears in both directions at once only, but does not grow with the load as that of collisions does",
        );
    }
    let by_size = half_by_size(readings);
    let by_asymmetry = half_by_asymmetry(readings);
    let half = match (by_size, by_asymmetry) {
        (Some(one), Some(other)) if one != other => None,
        (Some(one), _) => Some(one),
        (None, other) => other,
    };
    let confidence = if grows == Some(true) || by_size.is_some() {
        Confidence::High
    } else {
        Confidence::Medium
    };
    let side = match (half, by_size.is_some()) {
        (Some(LinkSide::Near), true) => {
            "; from the near end small datagrams get through: it is the half-duplex one"
        }
        (Some(LinkSide::Far), true) => {
            "; from the far end small datagrams get through: it is the half-duplex one"
        }
        (Some(LinkSide::Near), false) => {
            "; TCP from the near end is the slow one: it is half duplex"
        }
        (Some(LinkSide::Far), false) => "; TCP from the far end is the slow one: it is half duplex",
        (None, _) => "; which end is half duplex does not show",
    };
    DuplexStatement::new(
        DuplexFinding::Mismatch { half },
        confidence,
        format!(
            "{:.1} % are lost in both directions at once, and nothing in each alone{side}",
            100.0 * loss
        ),
    )
}

fn loss_together(light: &LightRuns) -> Option<f64> {
    let [forward, back] = light.together.both().map(RunLoss::fraction);
    Some(forward?.max(back?))
}

/// A frame of the half-duplex end is lost to a late collision, after its first 64 bytes: small frames have none.
fn half_by_size(readings: &DuplexReadings) -> Option<LinkSide> {
    let (large, small) = (readings.light?.together, readings.small?.together);
    let ratio = |large: RunLoss, small: RunLoss| {
        let large = large.fraction().filter(|loss| *loss > 0.0)?;
        Some(small.fraction()? / large)
    };
    let forward = ratio(large.forward, small.forward)?;
    let back = ratio(large.back, small.back)?;
    if forward < FALLS_WITH_SIZE && back > STAYS_WITH_SIZE {
        Some(LinkSide::Near)
    } else if back < FALLS_WITH_SIZE && forward > STAYS_WITH_SIZE {
        Some(LinkSide::Far)
    } else {
        None
    }
}

/// TCP from the half-duplex end collapses: acknowledgements collide with its segments.
fn half_by_asymmetry(readings: &DuplexReadings) -> Option<LinkSide> {
    let EachWay { forward, back } = readings.tcp_alone?;
    let exceeds = |fast: BitRate, slow: BitRate| fast.as_f64() > ASYMMETRIC * slow.as_f64();
    if exceeds(back, forward) {
        Some(LinkSide::Near)
    } else if exceeds(forward, back) {
        Some(LinkSide::Far)
    } else {
        None
    }
}

fn from_goodputs(readings: &DuplexReadings, light_is_clean: bool) -> DuplexStatement {
    let Some(saturating) = readings.saturating else {
        return cannot_tell(if light_is_clean {
            "runs at a light load lose nothing, and there are no saturating ones"
        } else {
            "nothing was measured"
        });
    };
    let sum = |rates: EachWay<BitRate>| rates.forward.as_f64() + rates.back.as_f64();
    let (alone, together) = (sum(saturating.alone), sum(saturating.together));
    let idle = saturating
        .alone
        .both()
        .into_iter()
        .any(|rate| rate == BitRate::ZERO);
    if idle {
        return cannot_tell("a direction carried nothing alone");
    }
    let ratio = together / alone;
    let carried = format!("both directions at once carry {ratio:.2} of what they carry alone");
    if ratio >= NOT_SHARED {
        let confidence = if light_is_clean {
            Confidence::High
        } else {
            Confidence::Medium
        };
        return DuplexStatement::new(DuplexFinding::Full, confidence, carried);
    }
    if ratio > SHARED {
        return cannot_tell(&format!(
            "{carried}: a host short of CPU, a shared backplane or a radio does the same"
        ));
    }
    if !light_is_clean {
        return cannot_tell(&format!(
            "{carried}, and without runs at a light load a mismatch is not excluded"
        ));
    }
    if ratio < MIN_SHARED {
        return cannot_tell(&format!(
            "{carried}, which is less than a shared medium does"
        ));
    }
    DuplexStatement::new(
        DuplexFinding::MatchedHalf,
        Confidence::High,
        format!(
            "{carried}, and nothing is lost at a light load: they share one medium, half-duplex Ethernet or a radio"
        ),
    )
}
