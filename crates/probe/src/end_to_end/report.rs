//! What two ends found, as documents have it.

use super::capacity::EndToEndCapacity;
use super::duplex_runs::{DuplexEnd, DuplexMeasurement};
use super::narrow_reading::CapacityMethod;
use crate::available_bandwidth::AvailableBandwidth;
use crate::cannot_tell::CannotTell;
use crate::duplex::{DuplexFinding, EachWay, EndLinkStatement, LightRuns, LinkSide, RunLoss};
use crate::rate_estimate::RateEstimate;
use caudal_core::path::{
    CapacityEvidence, DuplexRun, DuplexRunKind, NarrowCapacity, PathAvailable, PathDuplex,
    PathDuplexMode, PathEndLink, PathShaper,
};
use caudal_core::plan::Direction;
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;
use caudal_stats::{Estimate, IntervalMethod};

/// A rate whose ends are bounds; `None` without an upper one.
fn bounded(rate: &RateEstimate) -> Option<Estimate> {
    estimate(rate, IntervalMethod::ErrorBound)
}

/// The mean of trains: their minimum and maximum where they are few.
fn of_trains(rate: &RateEstimate) -> Option<Estimate> {
    let method = match (rate.readings, rate.confidence > 0.0) {
        (_, true) => IntervalMethod::IndependentRunsT,
        (1, false) => IntervalMethod::SingleValue,
        (_, false) => IntervalMethod::Range,
    };
    estimate(rate, method)
}

fn estimate(rate: &RateEstimate, method: IntervalMethod) -> Option<Estimate> {
    Some(Estimate {
        mean: rate.rate.as_f64(),
        low: rate.low.as_f64(),
        high: rate.high?.as_f64(),
        confidence: rate.confidence,
        n: rate.readings,
        method,
    })
}

impl From<&EndToEndCapacity> for NarrowCapacity {
    fn from(found: &EndToEndCapacity) -> Self {
        let (evidence, bulk_packets) = match found.method {
            CapacityMethod::Pairs => (CapacityEvidence::Pairs, None),
            CapacityMethod::Bulks { packets } => (CapacityEvidence::Bulks, Some(packets)),
            CapacityMethod::Trains => (CapacityEvidence::Trains, None),
        };
        let narrow = found.narrow.as_ref().ok();
        let capacity_bps = match found.method {
            CapacityMethod::Trains => narrow.and_then(of_trains),
            _ => narrow.and_then(bounded),
        };
        let shaper = found.shaper.as_ref().and_then(|shaper| {
            Some(PathShaper {
                kind: Some(shaper.kind),
                rate_bps: of_trains(&shaper.rate)?,
                bucket_bytes: shaper.bucket,
            })
        });
        Self {
            capacity_bps,
            at_least_bps: found.at_least(),
            evidence,
            bulk_packets,
            confirmed_by_bps: found.confirmed_by.as_ref().and_then(bounded),
            trains_bps: found.dispersion.as_ref().and_then(of_trains),
            shaper,
            longest_train_bytes: found.longest_train,
            confidence: found.confidence.into(),
            reason: found.reason.as_str().into(),
        }
    }
}

impl From<&AvailableBandwidth> for PathAvailable {
    fn from(found: &AvailableBandwidth) -> Self {
        Self {
            low_bps: found.low,
            high_bps: found.high,
            grey_low_bps: found.grey.map(|(low, _)| low),
            grey_high_bps: found.grey.map(|(_, high)| high),
            fleets: found.fleets,
            unfinished: found.unfinished,
        }
    }
}

impl From<&CannotTell> for ExternalText {
    fn from(cause: &CannotTell) -> Self {
        cause.to_string().into()
    }
}

impl From<&DuplexMeasurement> for PathDuplex {
    fn from(measured: &DuplexMeasurement) -> Self {
        let (statement, readings) = (&measured.statement, &measured.readings);
        let mut runs = Vec::new();
        if let Some(light) = &readings.light {
            runs.extend(light_runs(DuplexRunKind::Light, light, false));
            runs.extend(light_runs(DuplexRunKind::Light, light, true));
        }
        for (kind, more) in [
            (DuplexRunKind::Doubled, &readings.doubled),
            (DuplexRunKind::Small, &readings.small),
        ] {
            if let Some(more) = more {
                runs.extend(light_runs(kind, more, true));
            }
        }
        if let Some(saturating) = &readings.saturating {
            runs.extend(saturating_runs(saturating.alone, false));
            runs.extend(saturating_runs(saturating.together, true));
        }
        let (near, far) = (end_link(&measured.near), end_link(&measured.far));
        let has_own_remedy = [&near, &far]
            .into_iter()
            .flatten()
            .any(|end| end.remedy.is_some());
        let remedy = statement.remedy().filter(|_| !has_own_remedy);
        Self {
            remedy: remedy.map(ExternalText::from),
            mode: match statement.finding {
                DuplexFinding::Full => PathDuplexMode::Full,
                DuplexFinding::MatchedHalf => PathDuplexMode::Half,
                DuplexFinding::Mismatch { half } => match half {
                    Some(LinkSide::Near) => PathDuplexMode::MismatchNearHalf,
                    Some(LinkSide::Far) => PathDuplexMode::MismatchFarHalf,
                    None => PathDuplexMode::Mismatch,
                },
                DuplexFinding::CannotTell => PathDuplexMode::CannotTell,
            },
            confidence: statement.confidence.into(),
            reason: statement.reason.as_str().into(),
            near,
            far,
            runs,
        }
    }
}

/// The link of an end with what it says of itself.
fn end_link(end: &DuplexEnd) -> Option<PathEndLink> {
    let link = end.link.clone()?;
    let statement = EndLinkStatement::from_report(&link, end.errors());
    Some(PathEndLink {
        link,
        growth_alone: end.alone,
        growth_together: end.together,
        reason: statement.reason.into(),
        confidence: statement.confidence.into(),
        remedy: statement.remedy.map(Into::into),
    })
}

/// Both directions, from the near end and to it.
fn each_direction<T: Copy>(each: EachWay<T>) -> [(Direction, T); 2] {
    [(Direction::Up, each.forward), (Direction::Down, each.back)]
}

fn light_runs(kind: DuplexRunKind, runs: &LightRuns, both_ways: bool) -> [DuplexRun; 2] {
    let losses = if both_ways { runs.together } else { runs.alone };
    each_direction(losses).map(|(direction, RunLoss { sent, lost })| DuplexRun {
        kind,
        both_ways,
        direction,
        load: Some(runs.load),
        sent: Some(sent),
        lost: Some(lost),
        goodput_bps: None,
    })
}

fn saturating_runs(goodputs: EachWay<BitRate>, both_ways: bool) -> [DuplexRun; 2] {
    each_direction(goodputs).map(|(direction, goodput)| DuplexRun {
        kind: DuplexRunKind::Saturating,
        both_ways,
        direction,
        load: None,
        sent: None,
        lost: None,
        goodput_bps: Some(goodput),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplex::{DuplexReadings, SaturatingRuns};
    use crate::rate_estimate::Confidence;
    use caudal_core::path::StatementConfidence;
    use caudal_core::units::ByteCount;

    #[test]
    fn bounds_have_no_confidence_and_few_trains_a_range() {
        let rate = RateEstimate {
            rate: BitRate::from_bps(10_000_000),
            low: BitRate::from_bps(9_900_000),
            high: Some(BitRate::from_bps(10_100_000)),
            confidence: 0.0,
            readings: 3,
        };
        let found = EndToEndCapacity {
            narrow: Ok(rate),
            method: CapacityMethod::Bulks { packets: 9 },
            confirmed_by: None,
            dispersion: Some(rate),
            shaper: None,
            longest_train: ByteCount::new(76_900),
            confidence: Confidence::High,
            reason: "so it is".to_owned(),
        };
        let report = NarrowCapacity::from(&found);
        let capacity = report.capacity_bps.unwrap();
        assert_eq!(capacity.method, IntervalMethod::ErrorBound);
        assert_eq!(report.trains_bps.unwrap().method, IntervalMethod::Range);
        assert_eq!(report.bulk_packets, Some(9));
        assert_eq!(report.confidence, StatementConfidence::High);
    }

    #[test]
    fn the_runs_stand_beside_what_they_say() {
        let rates = |forward, back| EachWay {
            forward: BitRate::from_bps(forward),
            back: BitRate::from_bps(back),
        };
        let none = RunLoss {
            sent: 2000,
            lost: 0,
        };
        let none = EachWay {
            forward: none,
            back: none,
        };
        let readings = DuplexReadings {
            light: Some(LightRuns {
                load: 0.1,
                alone: none,
                together: none,
            }),
            saturating: Some(SaturatingRuns {
                alone: rates(90_000_000, 90_000_000),
                together: rates(45_000_000, 45_000_000),
            }),
            ..DuplexReadings::default()
        };
        let report = PathDuplex::from(&DuplexMeasurement::from_readings(
            readings,
            DuplexEnd::default(),
            DuplexEnd::default(),
        ));
        assert_eq!(report.mode, PathDuplexMode::Half);
        let kinds: Vec<_> = report
            .runs
            .iter()
            .map(|run| (run.kind, run.both_ways))
            .collect();
        assert_eq!(kinds.len(), 8);
        assert_eq!(kinds[7], (DuplexRunKind::Saturating, true));
    }
}
