//! The few numbers of a run that its page begins with, large, each with its interval.

use super::page::{HeadlineNumber, Mark};
use super::wording::about;
use caudal_core::check::{CheckReport, CheckVerdict};
use caudal_core::path::{PathHop, PathReport};
use caudal_core::plan::Direction;
use caudal_core::quality::{Grade, PhaseReport, QualityReport};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::{RoundTripSummary, Run, RunResult};
use caudal_core::summary::DirectionSummary;
use caudal_core::transfer::FileReport;
use caudal_stats::Estimate;

/// The numbers, the most important first; none of a run without a result.
#[must_use]
pub fn headline(run: &Run) -> Vec<HeadlineNumber> {
    match &run.result {
        None => Vec::new(),
        Some(RunResult::Throughput(summary)) => {
            let over = run.over_repeats.iter();
            let over: Vec<HeadlineNumber> = over
                .filter_map(|one| {
                    let name = format!(
                        "{}, mean of {} runs",
                        name(one.direction),
                        run.repeats.len()
                    );
                    Some(estimate(
                        &name,
                        one.goodput_bps.as_ref()?,
                        Unit::BitPerSecond,
                    ))
                })
                .collect();
            match over.is_empty() {
                true => summary.directions.iter().flat_map(direction).collect(),
                false => over,
            }
        }
        Some(RunResult::RoundTrips(summary)) => round_trips(summary),
        Some(RunResult::Search(search)) => {
            let rate = search
                .found
                .rate_bps
                .map(|rate| about(rate as f64, Unit::BitPerSecond));
            let value = rate.unwrap_or_else(|| "none".to_owned());
            vec![HeadlineNumber::new("highest rate a flow", value)]
        }
        Some(RunResult::Connect(report)) => {
            let per_s = report.per_s.iter();
            let per_s =
                per_s.map(|per_s| estimate("connections", per_s, Unit::ConnectionsPerSecond));
            let time = report.connect.as_ref().map(|times| {
                HeadlineNumber::new(
                    "to connect, median",
                    about(times.p50_us / 1e6, Unit::Seconds),
                )
            });
            per_s.chain(time).collect()
        }
        Some(RunResult::Stamp(report)) => {
            let rtt = report.packets.mean_us.iter();
            let rtt = rtt.map(|us| time("round trip", us));
            let loss = report.packets.loss.iter();
            rtt.chain(loss.map(|loss| estimate("lost", loss, Unit::Share)))
                .collect()
        }
        Some(RunResult::Quality(report)) => quality(report),
        Some(RunResult::File(file)) => files(&file.report),
        Some(RunResult::Check(report)) => check(report),
        Some(RunResult::Path(path)) => self::path(&path.report),
    }
}

const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    }
}

/// An estimate with its interval.
fn estimate(label: &str, estimate: &Estimate, unit: Unit) -> HeadlineNumber {
    let shown = EstimateInUnit::new(estimate, unit);
    HeadlineNumber {
        beside: shown.confidence_interval(),
        ..HeadlineNumber::new(label, shown.mean())
    }
}

/// A time in µs with its interval.
fn time(label: &str, us: &Estimate) -> HeadlineNumber {
    let seconds = Estimate {
        mean: us.mean / 1e6,
        low: us.low.max(0.0) / 1e6,
        high: us.high / 1e6,
        ..*us
    };
    estimate(label, &seconds, Unit::Seconds)
}

/// A part that was lost: none is good.
fn lost(part: f64) -> HeadlineNumber {
    HeadlineNumber {
        mark: if part > 0.0 { Mark::Fails } else { Mark::Holds },
        ..HeadlineNumber::new("lost", about(part, Unit::Share))
    }
}

fn direction(summary: &DirectionSummary) -> Vec<HeadlineNumber> {
    let label = name(summary.direction);
    let mut numbers: Vec<HeadlineNumber> = Vec::new();
    if let Some(goodput) = &summary.goodput_bps {
        let mut number = estimate(label, goodput, Unit::BitPerSecond);
        // What cannot be relied on is not shown as if it could.
        if summary.goodput_trusted == Some(false) {
            number.beside = Some("too short for an interval".to_owned());
        }
        numbers.push(number);
    } else if let Some(bps) = summary.sent_bps {
        let label = format!("{label}, sent");
        numbers.push(HeadlineNumber::new(&label, about(bps, Unit::BitPerSecond)));
    }
    let loss = summary.loss.as_ref().and_then(|loss| loss.fraction);
    numbers.extend(loss.map(|loss| lost(loss.mean)));
    if let Some(share) = summary.ceiling.as_ref().and_then(|ceiling| ceiling.share) {
        let number = HeadlineNumber::new("of what the link can carry", about(share, Unit::Share));
        numbers.push(number);
    }
    numbers
}

fn round_trips(summary: &RoundTripSummary) -> Vec<HeadlineNumber> {
    let smallest = summary.sizes.iter().min_by_key(|size| size.size_bytes);
    let Some(replies) = smallest.map(|size| &size.pooled) else {
        return Vec::new();
    };
    let mut numbers: Vec<HeadlineNumber> = Vec::new();
    numbers.extend(
        replies
            .mean_us
            .as_ref()
            .map(|mean| time("round trip, mean", mean)),
    );
    if let Some(p99) = replies.rtt_us.and_then(|rtt| rtt.p99) {
        numbers.push(HeadlineNumber::new(
            "99th percentile",
            about(p99 / 1e6, Unit::Seconds),
        ));
    }
    if summary.messages > 0 {
        numbers.push(lost(summary.lost as f64 / summary.messages as f64));
    }
    numbers
}

const fn mark_of_grade(grade: Grade) -> Mark {
    match grade {
        Grade::APlus | Grade::A => Mark::Holds,
        Grade::B | Grade::C => Mark::Open,
        Grade::D | Grade::F => Mark::Fails,
    }
}

fn quality(report: &QualityReport) -> Vec<HeadlineNumber> {
    let grade = match &report.grade {
        Some(grade) => HeadlineNumber {
            mark: mark_of_grade(grade.grade),
            is_badge: true,
            ..HeadlineNumber::new("grade", grade.grade.name().to_owned())
        },
        None => HeadlineNumber {
            beside: Some(report.no_grade_reason()),
            ..HeadlineNumber::new("grade", "none".to_owned())
        },
    };
    let added = |phase: &PhaseReport| {
        let us = phase.added_rtt?.mean_us.max(0.0);
        let label = format!("{} adds", phase.load.name());
        Some(HeadlineNumber::new(&label, about(us / 1e6, Unit::Seconds)))
    };
    let added = report.phases.iter().filter_map(added);
    std::iter::once(grade).chain(added).collect()
}

fn files(report: &FileReport) -> Vec<HeadlineNumber> {
    let number = |cell: &caudal_core::transfer::TransferCellReport| {
        let goodput = cell.goodput_bps?;
        let label = format!("{} by {}", cell.cell.content(), cell.cell.name());
        Some(HeadlineNumber::new(
            &label,
            about(goodput, Unit::BitPerSecond),
        ))
    };
    report
        .cells
        .iter()
        .filter_map(number)
        .take(MAX_CELLS)
        .collect()
}

/// Maximum cells of a campaign that have a number.
const MAX_CELLS: usize = 4;

fn check(report: &CheckReport) -> Vec<HeadlineNumber> {
    let (value, mark) = match report.verdict {
        CheckVerdict::Healthy => ("healthy", Mark::Holds),
        CheckVerdict::Unhealthy => ("not healthy", Mark::Fails),
        CheckVerdict::Undecided => ("cannot tell", Mark::Open),
    };
    let verdict = HeadlineNumber {
        mark,
        is_badge: true,
        ..HeadlineNumber::new("verdict", value.to_owned())
    };
    let trips = report.round_trips.iter();
    let trips = trips.map(|trips| time("round trip, mean", &trips.mean_us));
    let tcp = report.tcp.iter().filter_map(|tcp| {
        let goodput = tcp.several_bps.as_ref().or(tcp.one_bps.as_ref())?;
        Some(estimate(name(tcp.direction), goodput, Unit::BitPerSecond))
    });
    std::iter::once(verdict).chain(trips).chain(tcp).collect()
}

fn path(report: &PathReport) -> Vec<HeadlineNumber> {
    let narrow = report.narrow.as_ref();
    let narrow =
        narrow.map(|narrow| estimate("narrow link", &narrow.capacity_bps, Unit::BitPerSecond));
    let host = report.host();
    let rtt = host.and_then(PathHop::times_ms).map(|rtt| {
        HeadlineNumber::new(
            "round trip to the host, mean",
            about(rtt.mean / 1e3, Unit::Seconds),
        )
    });
    let hops = host.map(|host| HeadlineNumber::new("hops", host.ttl.to_string()));
    narrow.into_iter().chain(rtt).chain(hops).collect()
}
