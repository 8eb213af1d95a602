//! One or more runs of a bulk transfer, until there are enough, and their result.

use super::assemble::{RunSet, assemble, goodputs};
use super::empty_input::empty_input;
use super::plan::{Settings, is_endless};
use super::recorder::record;
use crate::capture::TestObservation;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::run_table::RunGoal;
use crate::output::text;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use crate::recording::{CommandRecording, run_outcome};
use caudal_core::event::{Event, View};
use caudal_core::plan::{Directions, Omit, Plan, PlanRecord, Rate, TestEnd, Transport};
use caudal_core::units::format_duration;
use caudal_stats::{StopDecision, StopRule};
use caudal_sys::signal::Interrupt;
use std::sync::atomic::Ordering::Relaxed;

/// The maximum number of runs of `--until` unless `--repeat` raises it.
const MAX_RUNS: u32 = 100;
/// Minimum number of runs of `--until`: with fewer a run of luck ends the test too early, and the interval holds the
/// truth less often than it says (docs/statistics.md).
const MIN_RUNS: u64 = 10;

/// The test in a line: what is sent, to whom, for how long.
pub(super) fn headline(peer: &CommandPeer, plan: &Plan, settings: &Settings<'_>) -> String {
    let Some(bulk) = plan.bulk() else {
        return String::new();
    };
    let directions = match bulk.directions {
        Directions::Up => "upload",
        Directions::Down => "download",
        Directions::Both => "both directions",
    };
    let end = match bulk.end {
        TestEnd::Time(_) if is_endless(settings.traffic) => " until ^C".to_owned(),
        TestEnd::Time(time) => format!(" for {}", format_duration(time)),
        TestEnd::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => {
            ", to the end of the input".to_owned()
        }
        TestEnd::Bytes(bytes) => format!(", {bytes} a direction"),
    };
    let warm_up = match bulk.omit {
        Omit::Time(time) => format!(" after a warm-up (*) of {}", format_duration(time)),
        Omit::Nothing | Omit::Auto => String::new(),
    };
    let rate = match bulk.rate {
        Rate::Max => String::new(),
        Rate::Limit(rate) => format!(", {rate} a flow"),
    };
    let unit = match plan.transport() {
        Transport::Tcp => "blocks",
        Transport::Udp => "datagrams",
    };
    text::fold(
        &format!(
            "{} with {}, {directions}, {} flow{}{end}{warm_up}{rate}, {unit} of {} B",
            plan.transport(),
            peer.describe(),
            bulk.parallel,
            if bulk.parallel == 1 { "" } else { "s" },
            bulk.length
        ),
        4,
    )
}

/// The number of runs, and when there are enough.
struct Runs {
    max: u32,
    rule: Option<StopRule>,
}

impl Runs {
    fn new(settings: &Settings<'_>) -> Self {
        let until = settings.traffic.until;
        let max = match until {
            Some(_) if settings.traffic.repeat > 1 => settings.traffic.repeat,
            Some(_) => MAX_RUNS,
            None => settings.traffic.repeat,
        };
        Self {
            max,
            rule: until.map(|relative| StopRule {
                relative_error: relative,
                confidence: settings.output.confidence,
                min: MIN_RUNS.min(u64::from(max)),
                max: u64::from(max),
            }),
        }
    }

    /// The goal of several runs; `None` of a single one.
    fn goal(&self) -> Option<RunGoal> {
        let goal = match &self.rule {
            Some(rule) => RunGoal::Precision(rule.relative_error, self.max),
            None => RunGoal::Count(self.max),
        };
        (self.max > 1).then_some(goal)
    }
}

/// Carries a plan out as often as asked for, shows the result and records it.
pub(super) fn measure(
    peer: &mut CommandPeer,
    mut plan: Plan,
    settings: &Settings<'_>,
    (mut observation, mut views): (TestObservation, Views),
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    if let Some(bulk) = plan.bulk_mut() {
        bulk.same_machine = peer.info().is_same_machine;
    }
    let started = started_run();
    let recording = CommandRecording::start(&settings.output.store);
    views.note(&headline(peer, &plan, settings));
    let record = PlanRecord::from(&plan);
    observation.begin(
        &settings.traffic.capture,
        settings.target,
        peer,
        (&started, &record),
    )?;
    let set = carry_out(peer, &plan, settings, &mut views, interrupt)?;
    if settings.local.quit.load(Relaxed) {
        return Err(Failure::unread());
    }
    if let Some(path) = &settings.local.tcp.file
        && set.runs.iter().all(|run| run.bulk.sent_nothing())
    {
        return Err(empty_input(path));
    }
    let mut exit = set.exit();
    let outcome = run_outcome(exit, set.is_cut_short());
    if let Some(mut run) = assemble(peer, settings, &started, set) {
        exit = observation.end(&mut run, exit);
        let finished = Event::Finished { run: Box::new(run) };
        views.event(&finished);
        if let Event::Finished { run } = &finished
            && let Some(note) =
                recording.record(peer.info().address.ip(), &started, run, outcome, Vec::new)
        {
            views.note(&note);
        }
    }
    views.finish()?;
    Ok(exit)
}

fn carry_out(
    peer: &mut CommandPeer,
    plan: &Plan,
    settings: &Settings<'_>,
    views: &mut Views,
    interrupt: &'static Interrupt,
) -> Result<RunSet, Failure> {
    let runs = Runs::new(settings);
    let mut set = RunSet::default();
    if let Some(goal) = runs.goal() {
        views.begin_runs(goal, settings.output.confidence);
    }
    for number in 1..=runs.max {
        if number > 1 && interrupt.count() > 0 {
            break;
        }
        match record(peer, plan, settings, number, views) {
            Ok(run) => {
                let is_complete = run.bulk.is_complete();
                set.runs.push(run);
                if !is_complete {
                    break;
                }
                views.run_ended(number, &goodputs(&set.runs));
            }
            Err(_) if settings.local.quit.load(Relaxed) => break,
            Err(error) if set.runs.is_empty() => return Err(error.into()),
            Err(error) => {
                // The runs that were completed are not lost with the one that was not.
                set.lost = Some(Failure::from(error));
                break;
            }
        }
        if let Some(rule) = &runs.rule {
            let verdicts: Vec<StopDecision> = goodputs(&set.runs)
                .iter()
                .map(|results| rule.decide(&results.goodputs_bps))
                .collect();
            let is_reached =
                |verdict: &StopDecision| matches!(verdict, StopDecision::Reached { .. });
            if verdicts.iter().all(is_reached) {
                break;
            }
            if number == runs.max {
                set.gave_up = Some(verdicts);
            }
        }
    }
    Ok(set)
}
