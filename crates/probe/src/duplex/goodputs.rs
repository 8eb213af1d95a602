//! What saturating runs show.

use super::interfaces::from_interfaces;
use super::readings::{DuplexReadings, EachWay};
use super::shared_end::{SharedEnds, doubt};
use super::statement::{DuplexFinding, DuplexStatement};
use crate::rate_estimate::Confidence;
use caudal_core::units::BitRate;

/// Ratio of the goodput of both directions at once to that of each alone: maximum of a shared medium, minimum of full duplex.
const SHARED: f64 = 0.55;
const NOT_SHARED: f64 = 0.8;
/// Ratio below which sharing alone does not explain the goodput.
const MIN_SHARED: f64 = 0.3;

/// The duplex mode by the sum of the goodputs; by the interfaces of both ends where there are none.
pub(super) fn from_goodputs(readings: &DuplexReadings, light_is_clean: bool) -> DuplexStatement {
    let Some(saturating) = readings.saturating else {
        return from_interfaces(readings, light_is_clean);
    };
    let sum = |rates: EachWay<BitRate>| rates.forward.as_f64() + rates.back.as_f64();
    let (alone, together) = (sum(saturating.alone), sum(saturating.together));
    let is_idle = |rate: BitRate| rate == BitRate::ZERO;
    if saturating.alone.both().into_iter().any(is_idle) {
        return DuplexStatement::cannot_tell("a direction carried nothing alone");
    }
    if let Some(cause) = more_than_half_duplex(readings, together) {
        return DuplexStatement::cannot_tell(&cause);
    }
    let ratio = together / alone;
    let carried = format!("both directions at once carry {ratio:.2} of what they carry alone");
    // Both ends of a mismatch lose too much to carry that.
    let runs_are_clean = light_is_clean || ratio >= NOT_SHARED;
    let ends = SharedEnds::of(readings, runs_are_clean);
    if ratio >= NOT_SHARED {
        not_shared(&carried, ends, light_is_clean)
    } else {
        shared(ratio, &carried, ends, light_is_clean)
    }
}

/// What contradicts an interface that reports half duplex: both directions at once carry more, `together_bps`, than its rate.
fn more_than_half_duplex(readings: &DuplexReadings, together_bps: f64) -> Option<String> {
    readings.end_links().find_map(|(side, link)| {
        let rate = link.rate.filter(|_| link.state.is_half())?;
        (together_bps > rate.as_f64()).then(|| {
            let together = BitRate::from_bps(together_bps as u64);
            format!("the {side} end's interface reports half duplex at {rate}, and both directions at once carry {together}")
        })
    })
}

/// Nothing that limits the path is shared; a link of an end that does not limit it may be.
fn not_shared(carried: &str, ends: SharedEnds, light_is_clean: bool) -> DuplexStatement {
    let confidence = if light_is_clean {
        Confidence::High
    } else {
        Confidence::Medium
    };
    if let Some(end) = ends.in_doubt {
        return DuplexStatement::cannot_tell(&format!(
            "{}; {carried}, but that link may be too fast for these runs to test it",
            doubt(end)
        ));
    }
    match ends.agreed {
        Some(end) => DuplexStatement::new(
            DuplexFinding::MatchedHalf,
            confidence,
            format!("{end}; {carried}, so it is not what limits the path"),
        ),
        None => DuplexStatement::new(DuplexFinding::Full, confidence, carried.to_owned()),
    }
}

/// Both directions carry less at once than each alone.
fn shared(ratio: f64, carried: &str, ends: SharedEnds, light_is_clean: bool) -> DuplexStatement {
    let matched =
        |confidence, reason| DuplexStatement::new(DuplexFinding::MatchedHalf, confidence, reason);
    let known = ends.agreed.filter(|_| ends.in_doubt.is_none());
    match known {
        Some(end) if ratio >= MIN_SHARED && !(light_is_clean && ratio <= SHARED) => {
            return matched(Confidence::Medium, format!("{end}, and {carried}"));
        }
        _ if ratio > SHARED => {
            return DuplexStatement::cannot_tell(&format!(
                "{carried}: a host short of CPU, a shared backplane or a radio does the same"
            ));
        }
        _ if !light_is_clean => {
            return DuplexStatement::cannot_tell(&format!(
                "{carried}, and without runs at a light load a mismatch is not excluded"
            ));
        }
        _ if ratio < MIN_SHARED => {
            return DuplexStatement::cannot_tell(&format!(
                "{carried}, which is less than a shared medium does"
            ));
        }
        _ => (),
    }
    let shown = format!("{carried}, and nothing is lost at a light load");
    match (known, ends.in_doubt) {
        (Some(end), _) => matched(Confidence::High, format!("{shown}: {end}")),
        (None, Some(end)) => matched(
            Confidence::Medium,
            format!("{shown}: they share one medium; {}", doubt(end)),
        ),
        (None, None) => matched(
            Confidence::High,
            format!("{shown}: they share one medium, half-duplex Ethernet or a radio"),
        ),
    }
}
