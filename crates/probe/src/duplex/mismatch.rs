//! A mismatch that losses show, and which end is half duplex.

use super::end_link::EndLink;
use super::readings::{DuplexReadings, EachWay, LightRuns, RunLoss};
use super::shared_end::doubt;
use super::statement::{DuplexFinding, DuplexStatement, LinkSide};
use crate::rate_estimate::Confidence;
use caudal_core::units::BitRate;

/// Ratio of losses, small to large datagrams: below it a direction may be that from the half-duplex end, above it the other. Collisions give 0 to 0.16, and 0.45 to 0.9 with the chance of 700 datagrams.
const FALLS_WITH_SIZE: f64 = 0.3;
const STAYS_WITH_SIZE: f64 = 0.4;
/// Growth of loss, when the load doubles, that fits collisions: from 20 to 40 % of load they destroy 2.5 times as many frames, which
/// chance turns into 2 to 3.2 with 700 datagrams.
const GROWTH: std::ops::Range<f64> = 1.4..3.7;
/// Minimum ratio of the two directions' TCP goodputs that fits a mismatch.
const ASYMMETRIC: f64 = 10.0;

/// The duplex mode of a path that loses this fraction in both directions at once, and nothing in each alone.
pub(super) fn mismatch(readings: &DuplexReadings, loss: f64) -> DuplexStatement {
    let grows = readings.doubled.and_then(|doubled| loss_together(&doubled));
    let grows = grows.map(|doubled| GROWTH.contains(&(doubled / loss)));
    if grows == Some(false) {
        return DuplexStatement::cannot_tell(
            "loss appears in both directions at once only, but does not grow with the load as that of collisions does",
        );
    }
    let by_size = half_by_size(readings);
    let alone = match loss_alone(readings) {
        some if some > 0.0 => format!("{:.2} %", 100.0 * some),
        _ => "nothing".to_owned(),
    };
    let lost = format!(
        "{:.1} % are lost in both directions at once, and {alone} in each alone",
        100.0 * loss
    );
    let is_excluded_at_ends = both_links_are_full(readings) && readings.is_one_hop;
    if is_excluded_at_ends && by_size.is_none() {
        return DuplexStatement::cannot_tell(&format!(
            "{lost}, but the interfaces of both ends and their link partners are full duplex, and there is no router between them"
        ));
    }
    let by_interface = half_by_interface(readings);
    let half = agreed([by_size, half_by_asymmetry(readings), by_interface]);
    let is_confirmed = grows == Some(true) || by_size.is_some() || by_interface.is_some();
    let confidence = if is_confirmed && !is_excluded_at_ends {
        Confidence::High
    } else {
        Confidence::Medium
    };
    let in_doubt = first_in_doubt(readings).filter(|_| by_interface.is_some());
    let shown = match (half, in_doubt) {
        (None, _) => "which end is half duplex does not show".to_owned(),
        (Some(side), _) if by_size.is_some() => {
            format!("from the {side} end small datagrams get through: it is the half-duplex one")
        }
        (Some(_), Some(end)) => doubt(end),
        (Some(side), None) => {
            format!("TCP from the {side} end is the slow one: it is half duplex")
        }
    };
    let elsewhere = if is_excluded_at_ends {
        "; the interfaces of both ends are full duplex, so it is a link between switches"
    } else {
        ""
    };
    DuplexStatement::new(
        DuplexFinding::Mismatch { half },
        confidence,
        format!("{lost}; {shown}{elsewhere}"),
    )
}

/// The end that all evidence which names one agrees on.
fn agreed(each: [Option<LinkSide>; 3]) -> Option<LinkSide> {
    let mut told = each.into_iter().flatten();
    let first = told.next()?;
    told.all(|side| side == first).then_some(first)
}

/// `true` when the interfaces of both ends, and their link partners, are known to be full duplex.
pub(super) fn both_links_are_full(readings: &DuplexReadings) -> bool {
    let full = readings
        .end_links()
        .filter(|(_, link)| link.state.is_full_at_both_ends());
    full.count() == 2
}

/// The larger loss of one direction alone.
fn loss_alone(readings: &DuplexReadings) -> f64 {
    let alone = readings.light.map(|light| light.alone.both());
    let fractions = alone.into_iter().flatten().filter_map(RunLoss::fraction);
    fractions.fold(0.0, f64::max)
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

/// The half-duplex end by the interfaces that may be at an end of a mismatch; `None` where they differ.
fn half_by_interface(readings: &DuplexReadings) -> Option<LinkSide> {
    let ends = readings.end_links();
    let mut told = ends.filter_map(|(side, link)| link.state.half_of_mismatch(side));
    let first = told.next()?;
    told.all(|side| side == first).then_some(first)
}

/// The first end whose interface is half duplex without agreement with its partner, or full duplex by force.
fn first_in_doubt(readings: &DuplexReadings) -> Option<(LinkSide, EndLink)> {
    let mut ends = readings.end_links();
    ends.find(|(side, link)| link.state.half_of_mismatch(*side).is_some())
}
