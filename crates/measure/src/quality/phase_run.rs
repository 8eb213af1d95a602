//! One phase as it is carried out: its events shown, its measurements reduced to what the result needs.

use super::live_intervals::LiveIntervals;
use crate::bulk_recorder::{RecordedBulk, SummaryOptions};
use crate::control::Observer;
use crate::rtt::marks;
use crate::test_peer::TestPeer;
use caudal_analysis::echo::EchoSeries;
use caudal_analysis::quality::{PhaseMeasurements, SmoothedRtt};
use caudal_analysis::run::flow_report;
use caudal_core::echo::ClockOffset;
use caudal_core::episode::Episode;
use caudal_core::event::{CutShort, Event};
use caudal_core::interval::{Interval, ServerAccount};
use caudal_core::marks::MarkReport;
use caudal_core::plan::{Direction, Plan, PlanRecord, QualityPlan, QualityPlanRecord};
use caudal_core::quality::QualityInterval;
use caudal_core::run::FlowReport;
use caudal_core::text::ExternalText;
use caudal_core::warning::Warning;
use caudal_engine::{LocalOptions, QualityOutcome, RttOutcome, RunError};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use std::sync::atomic::Ordering::Relaxed;

/// A phase that was carried out.
pub(super) struct PhaseRun {
    /// Its start, ns of the monotonic clock.
    pub(super) began_ns: u64,
    pub(super) plan: QualityPlan,
    pub(super) changed: Vec<ExternalText>,
    pub(super) measurements: PhaseMeasurements,
    pub(super) intervals: Vec<QualityInterval>,
    pub(super) flows: Vec<FlowReport>,
    pub(super) warnings: Vec<Warning>,
    /// The offset of the server's clock, with times after the start of the test.
    pub(super) clock: Vec<ClockOffset>,
    pub(super) cut_short: Option<CutShort>,
    /// Outages and programs that stood still, with times after the start of the test.
    pub(super) episodes: Vec<Episode>,
    /// The marks of the UDP probe's messages, and of its replies.
    pub(super) marks: [Option<MarkReport>; 2],
}

/// The phases of a test while they are carried out.
pub(super) struct PhaseRunner<'a> {
    pub(super) confidence: f64,
    pub(super) local: &'a LocalOptions,
    /// The start of the first phase, ns of the monotonic clock; 0 before.
    pub(super) test_start_ns: u64,
    /// The same, ns since 1970.
    pub(super) began_ns: Option<u64>,
}

impl PhaseRunner<'_> {
    /// Carries out one phase.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub(super) fn run(
        &mut self,
        peer: &mut TestPeer,
        plan: &QualityPlan,
        observer: &mut dyn Observer,
    ) -> Result<PhaseRun, RunError> {
        let is_behind_proxy = peer.info().tcp_proxy.is_some();
        let mut live = LiveIntervals::new(plan, 0.0, is_behind_proxy);
        let mut intervals = Vec::new();
        let quit = &self.local.quit;
        let (test_start_ns, began_ns) = (&mut self.test_start_ns, &mut self.began_ns);
        let offered = Plan::Quality(plan.clone());
        let outcome = peer.peer_mut().run(&offered, self.local, &mut |event| {
            if matches!(event, Event::Started { .. }) {
                let now_ns = monotonic_ns();
                if *test_start_ns == 0 {
                    *test_start_ns = now_ns;
                    *began_ns = Some(realtime_ns());
                    observer.event(&event);
                }
                live.begin((now_ns - *test_start_ns) as f64 / 1e9);
            }
            show(observer, live.event(&event), &mut intervals);
            if observer.is_unread() {
                quit.store(true, Relaxed);
            }
        })?;
        let mut outcome = outcome
            .into_quality()
            .ok_or_else(|| RunError::Protocol("no test of latency under load".into()))?;
        let options = SummaryOptions {
            link_rate: None,
            confidence: self.confidence,
        };
        let (load, rest) = live.finish(&mut outcome, peer.info(), options);
        show(observer, rest, &mut intervals);
        let start_ns = outcome.start_ns.saturating_sub(self.test_start_ns);
        let episodes = load
            .as_ref()
            .map_or(&outcome.episodes, |load| &load.episodes);
        let of_load = || load.as_ref()?.outcome.cut_short.clone();
        let cut_short = outcome.cut_short.clone().or_else(of_load);
        let offset_s = start_ns as f64 / 1e9;
        let episodes = episodes.iter().cloned();
        let episodes: Vec<Episode> = episodes.map(|one| one.shifted(offset_s)).collect();
        Ok(PhaseRun {
            began_ns: outcome.start_ns,
            measurements: PhaseMeasurements {
                is_behind_proxy,
                ..measurements(&outcome, load.as_ref(), start_ns)
            },
            intervals,
            clock: clock(&outcome, start_ns),
            flows: load.as_ref().map(flow_reports).unwrap_or_default(),
            marks: [Direction::Up, Direction::Down].map(|way| marks(&outcome.udp, way)),
            warnings: load.map(|load| load.summary.warnings).unwrap_or_default(),
            plan: outcome.plan,
            changed: outcome.changed,
            cut_short: cut_short_in_test_time(cut_short, &episodes),
            episodes,
        })
    }
}

fn show(observer: &mut dyn Observer, rows: Vec<QualityInterval>, all: &mut Vec<QualityInterval>) {
    for interval in rows {
        observer.event(&Event::Quality { interval });
        all.push(interval);
    }
}

/// The reason why a phase ended early, with the time of the test where it was a silence.
fn cut_short_in_test_time(cut_short: Option<CutShort>, episodes: &[Episode]) -> Option<CutShort> {
    let silence = episodes.iter().rfind(|episode| episode.is_open());
    match (cut_short, silence) {
        (Some(CutShort::Lost(_)), Some(silence)) => Some(CutShort::Lost(silence.text().into())),
        (cut_short, _) => cut_short,
    }
}

/// The marks of all phases: of messages, or of replies.
pub(super) fn marks_of_phases(phases: &[PhaseRun], way: usize) -> Option<MarkReport> {
    let each = phases
        .iter()
        .filter_map(|phase| phase.marks.get(way)?.clone());
    each.reduce(|mut all, one| {
        all.arrived.add(&one.arrived);
        all
    })
}

fn measurements(
    outcome: &QualityOutcome,
    load: Option<&RecordedBulk>,
    start_ns: u64,
) -> PhaseMeasurements {
    let plan = &outcome.plan;
    let intervals: Vec<Vec<Interval>> = load.map_or_else(Vec::new, |load| {
        let flows = load.outcome.flows.iter();
        flows
            .map(|flow| load.timeline.intervals(flow.flow.id))
            .collect()
    });
    let readings = intervals.iter().flatten().filter_map(|interval| {
        let rtt_us = f64::from(interval.tcp?.rtt_us?);
        (rtt_us > 0.0).then_some(SmoothedRtt {
            at_s: interval.end_s,
            rtt_us,
        })
    });
    PhaseMeasurements {
        load: plan.load,
        start_ns,
        // What was cut short lasted as long as it did.
        duration_ns: plan.time.min(outcome.elapsed).as_nanos() as u64,
        ramp_ns: plan.ramp.as_nanos() as u64,
        is_behind_proxy: false,
        udp: series(outcome.udp.as_ref()),
        tcp: series(outcome.tcp.as_ref()),
        connects: outcome.connects.clone(),
        loaded: readings.collect(),
        goodput_bps: goodput_by_second(&intervals, plan.time.min(outcome.elapsed).as_secs_f64()),
        directions: load.map_or_else(Vec::new, |load| load.summary.directions.clone()),
        client_queue: outcome.client_queue,
        server_queue: outcome.server_queue,
        client_usage: outcome.client_usage,
        server_usage: outcome.server_usage,
        cut_short: outcome
            .cut_short
            .as_ref()
            .map(ToString::to_string)
            .map(Into::into),
    }
}

fn series(echo: Option<&RttOutcome>) -> EchoSeries {
    let first = echo.and_then(|echo| echo.record.series.first());
    first.cloned().unwrap_or_default()
}

/// The goodput of each whole second, over all flows, bit/s: an interval counts in the second of its middle.
fn goodput_by_second(flows: &[Vec<Interval>], duration_s: f64) -> Vec<f64> {
    let mut seconds = vec![0.0; duration_s as usize];
    for interval in flows.iter().flatten() {
        let middle_s = f64::midpoint(interval.start_s, interval.end_s);
        if let (Some(second), Some(bytes)) = (seconds.get_mut(middle_s as usize), interval.bytes) {
            *second += bytes as f64 * 8.0;
        }
    }
    seconds
}

/// The measurements of the clocks' offset of a phase that began `start_ns` after the test.
fn clock(outcome: &QualityOutcome, start_ns: u64) -> Vec<ClockOffset> {
    let echo = outcome.udp.as_ref().or(outcome.tcp.as_ref());
    let line = echo.and_then(|echo| echo.record.clock);
    let points = line.into_iter().flat_map(|line| [line.before, line.after]);
    points
        .map(|point| ClockOffset {
            at_ns: point.at_ns + i64::try_from(start_ns).unwrap_or(i64::MAX),
            ..point
        })
        .collect()
}

/// The flows without their intervals, which the intervals of the test sum up.
fn flow_reports(load: &RecordedBulk) -> Vec<FlowReport> {
    let flows = load.outcome.flows.iter();
    flows
        .map(|flow| FlowReport {
            intervals: None,
            ..flow_report(flow, Vec::new(), ServerAccount::Full)
        })
        .collect()
}

/// The plan of the whole test in a document: that of its phases, each with the server's changes.
pub(super) fn whole_plan(phases: &[PhaseRun], peer: String) -> PlanRecord {
    let record = phases
        .last()
        .map(|phase| QualityPlanRecord::from(&phase.plan));
    PlanRecord::Quality(QualityPlanRecord {
        peer: Some(peer.into()),
        phases: Some(phases.iter().map(|phase| phase.plan.phase()).collect()),
        ..record.unwrap_or_default()
    })
}
