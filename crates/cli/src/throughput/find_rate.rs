//! `--find-rate`: trials at one rate after another, each shown as it is decided.

use super::measure::headline;
use super::plan::Settings;
use super::recorder::{RecordedRun, record};
use crate::args::RateArg;
use crate::capture::TestObservation;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::text;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use crate::recording::{CommandRecording, run_outcome};
use caudal_core::event::{CutShort, Event, View};
use caudal_core::plan::{MIN_INTERVAL, Omit, Plan, PlanRecord, Rate, TestEnd, UdpPlan};
use caudal_core::run::{Run, SearchResult};
use caudal_core::search::{Search, TrialObservation, undelivered_fraction};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use caudal_sys::signal::Interrupt;
use std::time::Duration;

/// The default duration of each trial of a search.
pub(super) const TRIAL: Duration = Duration::from_secs(2);

/// Readings of each end in a trial: enough to see in its second half whether what arrives keeps up.
const READINGS: u32 = 20;

/// Searches for the highest rate with at most `limit` of the datagrams lost.
pub(super) fn find_rate(
    peer: &mut CommandPeer,
    mut plan: UdpPlan,
    settings: &Settings<'_>,
    limit: f64,
    rate: RateArg,
    (mut observation, mut views): (TestObservation, Views),
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let started = started_run();
    let recording = CommandRecording::start(&settings.output.store);
    plan.bulk.same_machine = peer.info().is_same_machine;
    let each = plan.bulk.duration().unwrap_or(TRIAL) / READINGS;
    plan.bulk.interval = each.max(MIN_INTERVAL);
    let max = match rate {
        RateArg::Limit(rate) => rate,
        RateArg::Max => sending_rate(peer, &plan, settings)?,
    };
    plan.bulk.rate = Rate::Limit(max);
    views.note(&headline(peer, &Plan::Udp(plan.clone()), settings));
    let record = PlanRecord::from(&Plan::Udp(plan.clone()));
    observation.begin(
        &settings.traffic.capture,
        settings.target,
        peer,
        (&started, &record),
    )?;
    views.note(&format!(
        "the highest rate with at most {} of the datagrams lost:",
        text::percent(limit)
    ));
    let mut search = Search::new(limit, max, settings.output.confidence);
    let outcome = run_trials(peer, &plan, settings, &mut search, &mut views, interrupt)?;
    let exit = match outcome.cut_short {
        None => Exit::Done,
        Some(CutShort::Lost(_)) => Exit::Peer,
        Some(_) => Exit::Failed,
    };
    let stored_outcome = run_outcome(exit, outcome.cut_short.is_some());
    let plan = PlanRecord {
        peer: Some(peer.info().address.to_string().into()),
        ..PlanRecord::from(&Plan::Udp(plan))
    };
    let mut run = Run {
        environment: Some(peer.info().environment()),
        search: Some(SearchResult {
            loss_limit: limit,
            confidence: settings.output.confidence,
            found: search.outcome(),
            trials: search.trials().to_vec(),
        }),
        warnings: warnings(outcome),
        ..Run::new(started.header.clone(), plan)
    };
    let exit = observation.end(&mut run, exit);
    let finished = Event::Finished { run: Box::new(run) };
    views.event(&finished);
    if let Event::Finished { run } = &finished
        && let Some(note) = recording.record(
            peer.info().address.ip(),
            &started,
            run,
            stored_outcome,
            Vec::new,
        )
    {
        views.note(&note);
    }
    views.finish()?;
    Ok(exit)
}

/// The end of a search.
#[derive(Default)]
struct SearchEnd {
    cut_short: Option<CutShort>,
    last: Option<RecordedRun>,
}

fn run_trials(
    peer: &mut CommandPeer,
    plan: &UdpPlan,
    settings: &Settings<'_>,
    search: &mut Search,
    views: &mut Views,
    interrupt: &'static Interrupt,
) -> Result<SearchEnd, Failure> {
    let mut end = SearchEnd::default();
    while let Some(rate) = search.next_rate() {
        if interrupt.count() > 0 {
            end.cut_short = Some(CutShort::Interrupted);
            break;
        }
        let mut trial = plan.clone();
        trial.bulk.rate = Rate::Limit(rate);
        let run = match record(peer, &Plan::Udp(trial), settings, 1, &mut Views::silent()) {
            Ok(run) => run,
            Err(error) if search.trials().is_empty() => return Err(error.into()),
            Err(error) => {
                end.cut_short = Some(CutShort::Lost(error.to_string().into()));
                break;
            }
        };
        if !run.bulk.is_complete() {
            end.cut_short.clone_from(&run.bulk.outcome.cut_short);
            break;
        }
        let Some(observed) = observed(&run, plan) else {
            let why = "the receiver's final report did not arrive".to_owned();
            end.cut_short = Some(CutShort::Lost(why.into()));
            break;
        };
        let Some(trial) = search.record(observed) else {
            break;
        };
        views.event(&Event::Trial { trial });
        end.last = Some(run);
        if views.is_unread() {
            return Err(Failure::unread());
        }
    }
    Ok(end)
}

/// The result of a trial; `None` without the receiver's final report.
fn observed(run: &RecordedRun, plan: &UdpPlan) -> Option<TrialObservation> {
    let direction = run.bulk.summary.directions.first()?;
    let loss = direction.loss.as_ref().filter(|loss| loss.is_complete())?;
    let flows = run.bulk.outcome.flows.len().max(1) as f64;
    let seconds = plan.bulk.duration().map_or(1.0, |time| time.as_secs_f64());
    Some(TrialObservation {
        sent: loss.sent?,
        lost: loss.lost?,
        reached_bps: direction.sent_bytes.unwrap_or(0) as f64 * 8.0 / seconds / flows,
        undelivered: undelivered_fraction(&run.bulk.outcome.samples, plan.bulk.length),
    })
}

/// The warnings of the last trial that concern the whole search, and the one about its end.
fn warnings(end: SearchEnd) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = end
        .last
        .map_or_else(Vec::new, |run| run.bulk.summary.warnings);
    warnings.retain(|warning| {
        !matches!(
            warning.code,
            WarningCode::TooShort | WarningCode::NotSteady | WarningCode::RateNotReached
        )
    });
    if let Some(cut) = &end.cut_short {
        warnings.push(Warning::new(
            WarningCode::CutShort,
            format!("the search ended early: {cut}"),
        ));
    }
    warnings
}

/// The rate the sender reaches without a limit: the upper bound of a search that was given none.
fn sending_rate(
    peer: &mut CommandPeer,
    plan: &UdpPlan,
    settings: &Settings<'_>,
) -> Result<BitRate, Failure> {
    let mut plan = plan.clone();
    plan.bulk.rate = Rate::Max;
    plan.bulk.end = TestEnd::Time(Duration::from_secs(1));
    plan.bulk.omit = Omit::Nothing;
    let run = record(peer, &Plan::Udp(plan), settings, 0, &mut Views::silent())?;
    let sent: u64 = run
        .bulk
        .outcome
        .flows
        .iter()
        .filter_map(|record| Some(record.sent()?.bytes))
        .sum();
    let each = sent as f64 * 8.0 / run.bulk.outcome.flows.len().max(1) as f64;
    Ok(BitRate::from_f64(each).unwrap_or(BitRate::from_bps(1_000_000)))
}
