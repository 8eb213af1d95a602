//! The test as it happens: its phases one after another, and their result.

use super::args::QualityArgs;
use super::assemble::assemble;
use super::headline::headline;
use super::measured::QualityMeasured;
use super::phase_run::{PhaseRun, PhaseRunner, whole_plan};
use super::plan::phases;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use crate::recording::{CommandRecording, run_outcome};
use caudal_core::event::{Agreement, CutShort, Event, View};
use caudal_core::plan::{Plan, PlanRecord, QualityPlan};
use caudal_core::run::{Run, RunHeader};
use caudal_engine::LocalOptions;
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use std::sync::atomic::Ordering::Relaxed;

/// Runs `caudal quality`.
///
/// # Errors
/// When nothing could be measured.
pub fn quality(args: &QualityArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    // Before anything is connected to: a flag out of range costs nothing.
    phases(args, false)?;
    check_congestion(args)?;
    let mut views = Views::open(&args.output, false)?;
    let mut peer = CommandPeer::connect(&args.target, interrupt)?;
    let plans = phases(args, peer.info().is_same_machine)?;
    let started = started_run();
    let recording = CommandRecording::start(&args.output.store);
    views.note(&headline(&peer, &plans));
    let header = started.header.clone();
    let (run, exit) = measure(&mut peer, &plans, args, &mut views, header, interrupt)?;
    let outcome = run_outcome(exit, exit != Exit::Done);
    let finished = Event::Finished { run: Box::new(run) };
    views.event(&finished);
    if let Event::Finished { run } = &finished
        && let Some(note) =
            recording.record(peer.info().address.ip(), &started, run, outcome, Vec::new)
    {
        views.note(&note);
    }
    views.finish()?;
    Ok(exit)
}

/// Carries a test out with a server that is connected already, as a part of a larger one: its run.
///
/// # Errors
/// When nothing could be measured.
pub fn measure_quality(
    peer: &mut CommandPeer,
    args: &QualityArgs,
    header: RunHeader,
    interrupt: &'static Interrupt,
) -> Result<Run, Failure> {
    let plans = phases(args, peer.info().is_same_machine)?;
    let mut views = Views::silent();
    let (run, _) = measure(peer, &plans, args, &mut views, header, interrupt)?;
    Ok(run)
}

/// Carries the phases out: the run, and the exit code.
fn measure(
    peer: &mut CommandPeer,
    plans: &[QualityPlan],
    args: &QualityArgs,
    views: &mut Views,
    header: RunHeader,
    interrupt: &'static Interrupt,
) -> Result<(Run, Exit), Failure> {
    let carried_out = carry_out(peer, plans, args, views, interrupt)?;
    let run = assemble(
        &QualityMeasured {
            peer: peer.info(),
            phases: &carried_out.phases,
            planned: plans.len(),
            failure: carried_out.failure.as_ref().map(|one| one.message.as_str()),
            confidence: args.output.confidence,
            began_ns: carried_out.began_ns,
        },
        header,
    );
    Ok((run, carried_out.exit(plans.len())))
}

/// The phases that were carried out.
struct CarriedOut {
    phases: Vec<PhaseRun>,
    /// The failure of the phase after them.
    failure: Option<Failure>,
    /// The time the first began, ns since 1970.
    began_ns: Option<u64>,
}

impl CarriedOut {
    fn exit(&self, planned: usize) -> Exit {
        let last = self
            .phases
            .last()
            .and_then(|phase| phase.cut_short.as_ref());
        match (last, &self.failure) {
            (Some(CutShort::Lost(_)), _) => Exit::Peer,
            (Some(_), _) => Exit::Failed,
            (None, Some(failure)) => failure.exit,
            (None, None) if self.phases.len() < planned => Exit::Failed,
            (None, None) => Exit::Done,
        }
    }
}

/// Carries the phases out; those that were completed are not lost with one that was not.
fn carry_out(
    peer: &mut CommandPeer,
    plans: &[QualityPlan],
    args: &QualityArgs,
    views: &mut Views,
    interrupt: &'static Interrupt,
) -> Result<CarriedOut, Failure> {
    let local = LocalOptions::default();
    let mut runner = PhaseRunner {
        args,
        local: &local,
        test_start_ns: 0,
        began_ns: None,
    };
    let mut carried_out = CarriedOut {
        phases: Vec::new(),
        failure: None,
        began_ns: None,
    };
    views.event(&agreed(peer, plans));
    for plan in plans {
        match runner.run(peer, plan, views) {
            Ok(phase) => {
                carried_out.began_ns = runner.began_ns;
                let is_complete = phase.cut_short.is_none();
                carried_out.phases.push(phase);
                if !is_complete || interrupt.count() > 0 {
                    break;
                }
            }
            Err(_) if local.quit.load(Relaxed) => {
                return Err(Failure::unread());
            }
            Err(error) if carried_out.phases.is_empty() => {
                views.abandon();
                return Err(error.into());
            }
            Err(error) => {
                carried_out.failure = Some(error.into());
                break;
            }
        }
    }
    if local.quit.load(Relaxed) {
        return Err(Failure::unread());
    }
    Ok(carried_out)
}

/// The plan of the whole test, before its first phase.
fn agreed(peer: &CommandPeer, plans: &[QualityPlan]) -> Event {
    let record = plans
        .last()
        .map(|plan| PlanRecord::from(&Plan::Quality(plan.clone())));
    Event::Agreed(Agreement {
        repeat: None,
        plan: PlanRecord {
            peer: Some(peer.info().address.to_string().into()),
            phases: Some(plans.iter().map(QualityPlan::phase).collect()),
            ..record.unwrap_or_else(|| whole_plan(&[], String::new()))
        },
        changed: Vec::new(),
    })
}

/// Checks that this kernel offers the congestion control.
fn check_congestion(args: &QualityArgs) -> Result<(), Failure> {
    let Some(name) = &args.congestion else {
        return Ok(());
    };
    let offered = tcp::available_congestion_controls();
    if offered.contains(name) {
        return Ok(());
    }
    Err(Failure::new(
        Exit::NotPermitted,
        format!("this kernel offers no congestion control {name:?}"),
        format!("choose one of {}, or load its module", offered.join(", ")),
    ))
}
