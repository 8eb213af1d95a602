//! The document of a test with STAMP.

use crate::bulk_recorder::seconds_to_the_microsecond;
use caudal_analysis::echo::{EchoRecord, EchoSummaryOptions, delay_episode, delay_level_episodes};
use caudal_analysis::stamp::{StampOffset, clock_offset, ways};
use caudal_core::echo::ReplySummary;
use caudal_core::episode::{Episode, episode_warnings};
use caudal_core::host::Host;
use caudal_core::marks::{ArrivedMarks, Ecn, MarkReport};
use caudal_core::plan::{Direction, PlanRecord, StampPlan};
use caudal_core::quantity::Unit;
use caudal_core::run::{ClockReport, Environment, Run, RunHeader, RunResult};
use caudal_core::stamp::{StampClock, StampReflector, StampReport};
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::{TOOL, describe_host};
use caudal_foreign::stamp::StampOutcome;
use caudal_stats::DistributionSummary;
use caudal_wire::stamp::{ErrorEstimate, SENT_TTL, TimeSource, TimestampFormat};

/// The share of a schedule's period by which packets may leave late.
const LATE_SHARE: f64 = 0.1;
/// Maximum number of hops that a TTL tells of: what sends with another TTL than 255 seems to be further away.
const MAX_HOPS: u8 = 64;

/// The document of a test, and its packets.
pub(super) fn assemble(
    mut outcome: StampOutcome,
    (plan, confidence): (&StampPlan, f64),
    record: PlanRecord,
    (header, began_ns): (RunHeader, Option<u64>),
) -> (Run, EchoRecord) {
    let offset = offset(&outcome);
    let packets_record = EchoRecord {
        series: vec![std::mem::take(&mut outcome.series)],
        clock: offset.map(|offset| offset.line),
    };
    let summaries = packets_record.summarise(EchoSummaryOptions {
        confidence,
        include_first: true,
    });
    let packets = summaries
        .into_iter()
        .next()
        .map_or_else(ReplySummary::default, |only| only.pooled);
    let episodes = episodes(&packets_record, confidence);
    let report = report(
        &outcome,
        &packets_record,
        (plan, confidence),
        packets,
        offset,
    );
    let warnings = warnings(&report, &outcome, plan, offset, &episodes);
    let run = Run {
        began_s: began_ns.map(seconds_to_the_microsecond),
        environment: Some(Environment {
            client: Some(describe_host(TOOL, Some(outcome.peer))),
            server: Some(Host {
                tool: "a reflector of STAMP".into(),
                name: outcome.peer.ip().to_string().into(),
                ..Host::default()
            }),
            ..Environment::default()
        }),
        result: Some(RunResult::Stamp(Box::new(report))),
        episodes,
        warnings,
        ..Run::new(header, record)
    };
    (run, packets_record)
}

/// The offset of the reflector's clock.
fn offset(outcome: &StampOutcome) -> Option<StampOffset> {
    let both = [Some(outcome.clock), outcome.reflector_clock];
    let errors: Option<Vec<u64>> = both
        .into_iter()
        .map(|clock| {
            clock
                .filter(|clock| clock.is_synchronized)
                .map(|clock| clock.error_ns)
        })
        .collect();
    let errors_ns = errors.map(|errors| errors.into_iter().fold(0, u64::saturating_add));
    clock_offset(&outcome.exchanges, errors_ns)
}

fn episodes(record: &EchoRecord, confidence: f64) -> Vec<Episode> {
    let series = record.series.iter();
    let delays = series.filter_map(|series| delay_episode(series, confidence));
    let mut all: Vec<Episode> = delays.collect();
    all.extend(
        record
            .series
            .first()
            .into_iter()
            .flat_map(delay_level_episodes),
    );
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}

fn report(
    outcome: &StampOutcome,
    record: &EchoRecord,
    (plan, confidence): (&StampPlan, f64),
    packets: ReplySummary,
    offset: Option<StampOffset>,
) -> StampReport {
    let distribution = |ns: &[u64]| {
        let us: Vec<f64> = ns.iter().map(|ns| *ns as f64 / 1e3).collect();
        DistributionSummary::from_series(&us, confidence)
    };
    let marks = |arrived: Option<ArrivedMarks>| {
        arrived.map(|arrived| MarkReport {
            sent_dscp: plan.dscp.unwrap_or(0),
            sent_ecn: Ecn::NotEct,
            arrived,
        })
    };
    let (ttl_up, ttl_down) = outcome.ttl;
    let marks_down = record
        .series
        .first()
        .and_then(|series| series.marks.counts());
    // A reflector that does not know the class of service replies with a DSCP of its own choice.
    let is_asked = outcome.marks_up.counts().is_some();
    StampReport {
        packets,
        ways: ways(outcome.sent, &outcome.numbers, outcome.counts, confidence),
        reflector: StampReflector {
            clock: outcome.reflector_clock.map(clock),
            timestamps: outcome.format.map(|format| format_name(format).to_owned()),
            time_source: outcome
                .time_source
                .map(|source| source_name(source).to_owned()),
            kept_us: distribution(&outcome.kept_ns),
            late_us: distribution(&outcome.late_ns),
            seen_from: outcome.seen_from.map(|source| source.to_string().into()),
        },
        clock: Some(clock(outcome.clock)),
        offset: offset
            .filter(|offset| !offset.is_trusted)
            .map(|offset| ClockReport::from(offset.line)),
        hops_up: ttl_up.and_then(hops),
        hops_down: ttl_down.and_then(hops),
        extensions: outcome.extensions.clone(),
        marks_up: marks(outcome.marks_up.counts()),
        marks_down: marks(marks_down.filter(|_| is_asked)),
        discarded: outcome.discarded,
        elapsed_s: outcome.elapsed.as_secs_f64(),
        kernel_stamps_missing: outcome.timestamps_missing.clone().map(Into::into),
        cut_short: outcome
            .cut_short
            .as_ref()
            .map(ToString::to_string)
            .map(Into::into),
    }
}

fn clock(estimate: ErrorEstimate) -> StampClock {
    StampClock {
        is_synchronized: estimate.is_synchronized,
        error_us: estimate.error_ns as f64 / 1e3,
    }
}

const fn format_name(format: TimestampFormat) -> &'static str {
    match format {
        TimestampFormat::Ntp => "ntp",
        TimestampFormat::Ptp => "ptp",
    }
}

const fn source_name(source: TimeSource) -> &'static str {
    match source {
        TimeSource::Ntp => "ntp",
        TimeSource::Ptp => "ptp",
        TimeSource::SsuBits => "ssu_bits",
        TimeSource::Satellite => "satellite",
        TimeSource::FreeRunning => "free_running",
    }
}

/// The routers that took one off a TTL of 255; `None` where it was another.
fn hops(ttl: u8) -> Option<u8> {
    let hops = SENT_TTL.saturating_sub(ttl);
    (hops <= MAX_HOPS).then_some(hops)
}

fn warnings(
    report: &StampReport,
    outcome: &StampOutcome,
    plan: &StampPlan,
    offset: Option<StampOffset>,
    episodes: &[Episode],
) -> Vec<Warning> {
    let cut_short = outcome.cut_short.as_ref().map(|cut| {
        Warning::new(
            WarningCode::CutShort,
            format!("the test ended early: {cut}"),
        )
    });
    let mut all: Vec<Warning> = cut_short.into_iter().collect();
    all.extend(episode_warnings(episodes));
    all.extend(
        report
            .packets
            .refused_sends()
            .warning("packets", "this host"),
    );
    let ways = [
        (&report.marks_up, Direction::Up),
        (&report.marks_down, Direction::Down),
    ];
    for (marks, direction) in ways {
        let marks = marks.iter();
        all.extend(marks.flat_map(|marks| marks.warnings(direction.in_text())));
    }
    all.extend(offset.and_then(|offset| offset.contradiction_ns).map(|ns| {
        Warning::new(
            WarningCode::ClocksDisagree,
            format!(
                "both clocks are said to be synchronized, and they are {} apart: the delay each way is taken from packets alone",
                Unit::Seconds.show((ns as f64 / 1e9).abs())
            ),
        )
    }));
    let allowed_us = plan.period.as_secs_f64() * 1e6 * LATE_SHARE;
    let late_us = report.packets.lateness_us.and_then(|late| late.p99);
    all.extend(late_us.filter(|late| *late > allowed_us).map(|late| {
        Warning::new(
            WarningCode::ScheduleLate,
            format!(
                "packets left up to {} late (p99)",
                Unit::Seconds.show(late / 1e6)
            ),
        )
    }));
    all
}
