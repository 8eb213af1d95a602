//! From the runs of several tests to their report.

use super::checked::{CheckedRuns, tcp_parts};
use super::findings::findings;
use super::suitability::uses;
use caudal_core::check::{
    CheckLoad, CheckLoadDirection, CheckPart, CheckPath, CheckReport, CheckRoundTrips, CheckTcp,
    CheckUdp,
};
use caudal_core::plan::{Direction, PhaseLoad, Rate};
use caudal_core::quality::QualityReport;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_stats::Estimate;

/// The directions in the order in which they are shown.
const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

/// The report of the tests, without identifiers of their runs.
#[must_use]
pub fn assess(checked: &CheckedRuns) -> CheckReport {
    let mut report = CheckReport {
        families: checked.families.clone(),
        round_trips: checked.run(CheckPart::RoundTrips).and_then(round_trips),
        path: checked.run(CheckPart::Path).and_then(path),
        tcp: DIRECTIONS
            .iter()
            .filter_map(|of| tcp(checked, *of))
            .collect(),
        udp: DIRECTIONS
            .iter()
            .filter_map(|of| udp(checked, *of))
            .collect(),
        load: checked
            .run(CheckPart::UnderLoad)
            .and_then(|run| Some(load(run.quality()?))),
        not_measured: checked.not_measured.clone(),
        cut_short: checked.cut_short.clone(),
        ..CheckReport::default()
    };
    report.findings = findings(checked, &report);
    report.uses = uses(&report);
    report.judged()
}

fn round_trips(run: &Run) -> Option<CheckRoundTrips> {
    let summary = run.round_trips()?;
    Some(CheckRoundTrips {
        mean_us: summary.mean_us?,
        p99_us: summary.rtt_us.as_ref().and_then(|times| times.p99),
        messages: summary.messages,
        lost: summary.lost,
    })
}

fn path(run: &Run) -> Option<CheckPath> {
    let report = run.path()?;
    Some(CheckPath {
        hops: report.host().map(|host| host.ttl),
        mtu_bytes: report.mtu.as_ref().map(|mtu| mtu.bytes.get()),
        local_mtu_bytes: report.mtu.as_ref().map(|mtu| mtu.local_bytes.get()),
    })
}

fn tcp(checked: &CheckedRuns, direction: Direction) -> Option<CheckTcp> {
    let [one, several] = tcp_parts(direction).map(|part| checked.direction(part));
    let goodput =
        |summary: Option<&DirectionSummary>| summary.and_then(|summary| summary.goodput_bps);
    let limit =
        |summary: Option<&DirectionSummary>| summary.and_then(|summary| summary.limited_by.clone());
    let tcp = CheckTcp {
        direction,
        one_bps: goodput(one),
        one_limited_by: limit(one),
        several: checked.several,
        several_bps: goodput(several),
        several_limited_by: limit(several),
        gain: gain(goodput(one), goodput(several)),
    };
    (tcp.one_bps.is_some() || tcp.several_bps.is_some()).then_some(tcp)
}

/// The goodput of several flows as a multiple of that of one, where their intervals do not overlap and it is more than a little.
fn gain(one: Option<Estimate>, several: Option<Estimate>) -> Option<f64> {
    let (one, several) = (one?, several?);
    let ratio = several.mean / one.mean;
    (one.mean > 0.0 && several.low > one.high && ratio >= CheckTcp::MIN_GAIN).then_some(ratio)
}

fn udp(checked: &CheckedRuns, direction: Direction) -> Option<CheckUdp> {
    let part = match direction {
        Direction::Down => CheckPart::UdpDownload,
        Direction::Up => CheckPart::UdpUpload,
    };
    let run = checked.run(part)?;
    let summary = run.directions().first()?;
    let asked = run.plan.rate().and_then(Rate::limit);
    Some(CheckUdp {
        direction,
        rate_bps: asked.map_or(summary.goodput_mean()?, |rate| rate.bps() as f64),
        loss: summary.loss.as_ref().and_then(|loss| loss.fraction),
        jitter_us: summary.delay.as_ref().map(|delay| delay.jitter_rfc3550_us),
    })
}

fn load(quality: &QualityReport) -> CheckLoad {
    let added = |(load, direction)| {
        let mut phases = quality.phases.iter();
        let phase = phases.find(|phase| phase.load == load)?;
        Some(CheckLoadDirection {
            direction,
            added_us: phase.added_rtt?.mean_us,
        })
    };
    let loads = [
        (PhaseLoad::Download, Direction::Down),
        (PhaseLoad::Upload, Direction::Up),
    ];
    CheckLoad {
        grade: quality.grade.as_ref().map(|grade| grade.grade),
        no_grade: quality.grade.is_none().then(|| quality.no_grade_reason()),
        directions: loads.into_iter().filter_map(added).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_stats::IntervalMethod;

    fn estimate(mean: f64, half_width: f64) -> Option<Estimate> {
        Some(Estimate {
            low: mean - half_width,
            high: mean + half_width,
            method: IntervalMethod::BatchMeansT,
            ..Estimate::single(mean)
        })
    }

    #[test]
    fn several_flows_get_more_where_the_intervals_tell_so() {
        assert_eq!(gain(estimate(10e6, 1e6), estimate(40e6, 1e6)), Some(4.0));
        assert_eq!(gain(estimate(10e6, 20e6), estimate(40e6, 20e6)), None);
        assert_eq!(gain(estimate(93e6, 0.1e6), estimate(94e6, 0.1e6)), None);
        assert_eq!(gain(None, estimate(94e6, 0.1e6)), None);
        assert_eq!(gain(estimate(0.0, 0.0), estimate(94e6, 0.1e6)), None);
    }

    #[test]
    fn nothing_measured_is_nothing_said() {
        let report = assess(&CheckedRuns::default());
        assert_eq!(report.verdict, caudal_core::check::CheckVerdict::Undecided);
        assert!(report.tcp.is_empty() && report.round_trips.is_none());
    }
}
