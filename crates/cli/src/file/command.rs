//! The transfers as they happen, and their result.

use super::args::FileArgs;
use super::assemble::{CommandFacts, assemble, assemble_one};
use super::block_order::BlockOrder;
use super::campaign::{CampaignRun, CampaignRuns, CampaignSize, carry_out};
use super::cells::{ChosenCell, cells};
use super::congestion::check_congestion;
use super::contents::contents;
use super::destination::LocalDestination;
use super::file_content::FileContent;
use super::file_runner::FileRunner;
use super::headline::headline;
use super::plan::check_cells;
use super::prepared_contents::PreparedContents;
use super::progress::FileProgress;
use super::run_count::{first_stage, goal};
use super::usage_checks::{check_usage, is_comparison};
use crate::capture::TestObservation;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use crate::recording::{CommandRecording, run_outcome};
use caudal_core::event::{CutShort, Event, View};
use caudal_core::plan::FileProtocol;
use caudal_core::random::mix;
use caudal_core::run::RunHeader;
use caudal_core::transfer::TransferCell;
use caudal_core::units::ByteCount;
use caudal_engine::{LocalOptions, RunError, StartedRun, new_run_id};
use caudal_store::RunOutcome;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Seeds that a document of JSON holds exactly, whatever reads it.
const MAX_SEED: u64 = (1 << 53) - 1;

/// Runs `caudal file`.
///
/// # Errors
/// When nothing could be transferred.
pub fn file(args: &FileArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    // Before anything is connected to: a flag out of range costs nothing.
    args.target.check()?;
    args.capture.check([
        ("--send", args.send.as_deref()),
        ("--get", received(args).as_deref()),
        ("--output", args.output.output.as_deref()),
        ("--token-file", args.target.token_file.as_deref()),
    ])?;
    check_usage(args)?;
    check_congestion(args, &tcp::available_congestion_controls())?;
    let contents = contents(args)?;
    let cells = cells(args, contents.len());
    check_cells(args, &cells, &contents)?;
    let destination = LocalDestination::open(args, &contents)?;
    let mut views = Views::open(&args.output, false)?;
    if let Some(at) = args.at {
        at.approach(interrupt)?;
    }
    let mut observation = TestObservation::prepare(&args.capture, &args.target)?;
    let mut peer = CommandPeer::connect_for_files(&args.target, interrupt)?;
    let named_cells = named_cells(&cells, &contents);
    let started = started_run();
    views.note(&headline(&peer, args, &named_cells));
    if args.via.contains(&FileProtocol::Quic) && args.packet.iter().any(|size| *size != 1400) {
        views.note("quic has datagrams of 1400 bytes only: --packet is for the others");
    }
    let recording = CommandRecording::start(&args.output.store);
    let seed = args.seed.unwrap_or_else(|| mix(realtime_ns()) & MAX_SEED);
    let is_repeated = is_comparison(args);
    observation.begin(&args.capture, &args.target, &peer, (&started, &named_cells))?;
    let mut runner = FileRunner {
        args,
        contents: &contents,
        cells: &cells,
        named_cells: &named_cells,
        seed,
        prepared: PreparedContents::new(args, &contents, seed, is_repeated),
        destination: &destination,
        local: LocalOptions {
            start_at_ns: args.at.map(|at| at.0),
            ..LocalOptions::default()
        },
        progress: FileProgress::new(&named_cells, args.output.quiet),
        interrupt,
        is_disconnected: false,
        peer: &mut peer,
        views: &mut views,
    };
    let size = CampaignSize {
        cells: cells.len(),
        first_stage: first_stage(args),
        goal: goal(args),
        order: is_repeated.then(|| BlockOrder::new(seed)),
    };
    let mut done = carry_out(&mut runner, size);
    runner.progress.close();
    let is_unread = runner.local.quit.load(Relaxed);
    if is_unread {
        return Err(Failure::unread());
    }
    if done.runs.is_empty() {
        views.abandon();
        let failure = done.lost.take();
        return Err(failure.unwrap_or_else(|| RunError::Interrupted.into()));
    }
    let facts = CommandFacts {
        peer: peer.info(),
        cells: &named_cells,
        goal: goal(args),
        seed,
        is_goal_asked: args.until.is_some(),
    };
    close(&facts, &done, (&started, &recording), (observation, views))
}

/// The path of a file that is fetched.
fn received(args: &FileArgs) -> Option<PathBuf> {
    let name = Path::new(args.get.as_deref()?).file_name()?;
    match &args.to {
        Some(to) if to.is_dir() => Some(to.join(name)),
        Some(to) => Some(to.clone()),
        None => Some(name.into()),
    }
}

/// Shows the result, records it, and each of several transfers for itself.
fn close(
    facts: &CommandFacts<'_>,
    done: &CampaignRuns,
    (started, recording): (&StartedRun, &CommandRecording),
    (observation, mut views): (TestObservation, Views),
) -> Result<Exit, Failure> {
    let exit = exit(done);
    let singles: Vec<StartedRun> = match done.runs.as_slice() {
        [_, _, ..] if recording.is_enabled() => {
            let runs = done.runs.iter();
            runs.map(|_| part_of(started)).collect()
        }
        _ => Vec::new(),
    };
    let ids: Vec<Option<String>> = singles
        .iter()
        .map(|single| Some(single.header.id.clone()))
        .collect();
    let mut run = assemble(facts, done, &ids, started.header.clone());
    let exit = observation.end(&mut run, exit);
    let finished = Event::Finished { run: Box::new(run) };
    views.event(&finished);
    let peer = facts.peer.address.ip();
    let parts = singles.into_iter().zip(&done.runs);
    recording.record_parts(
        peer,
        parts.map(|(single, run)| {
            let document = assemble_one(facts, run, single.header.clone());
            (single, document, outcome_of(run))
        }),
    );
    if let Event::Finished { run } = &finished {
        let outcome = run_outcome(exit, is_cut_short(done));
        if let Some(note) = recording.record(peer, started, run, outcome, Vec::new) {
            views.note(&note);
        }
    }
    views.finish()?;
    Ok(exit)
}

/// The outcome of one of several transfers.
fn outcome_of(run: &CampaignRun) -> RunOutcome {
    let exit = if run.measured.is_result() {
        Exit::Done
    } else {
        Exit::Failed
    };
    run_outcome(exit, run.measured.cut_short.is_some())
}

/// A part of a command's run, with an identity of its own. It was started with the whole, which is thus the last that is recorded of both;
/// the time it began is in its document.
fn part_of(started: &StartedRun) -> StartedRun {
    StartedRun {
        header: RunHeader {
            id: new_run_id(),
            ..started.header.clone()
        },
        started_ns: started.started_ns,
    }
}

/// The cells as documents have them.
fn named_cells(cells: &[ChosenCell], contents: &[FileContent]) -> Vec<TransferCell> {
    let named = cells.iter().map(|cell| {
        let (size_bytes, file): (Option<ByteCount>, Option<&str>) = match &contents[cell.content] {
            FileContent::Generated(bytes) => (Some(*bytes), None),
            FileContent::Local { name, bytes, .. } => (Some(*bytes), Some(name)),
            FileContent::StandardInput { name } | FileContent::Remote { name } => {
                (None, Some(name))
            }
        };
        TransferCell {
            via: cell.via.clone(),
            size_bytes,
            file: file.map(Into::into),
        }
    });
    named.collect()
}

fn is_cut_short(done: &CampaignRuns) -> bool {
    let is_last_cut = done
        .runs
        .last()
        .is_some_and(|run| run.measured.cut_short.is_some() && !run.measured.is_result());
    done.is_interrupted || done.lost.is_some() || is_last_cut
}

/// The exit code of the command.
fn exit(done: &CampaignRuns) -> Exit {
    if let Some(failure) = &done.lost {
        return failure.exit;
    }
    let mut reasons = done
        .runs
        .iter()
        .filter(|run| !run.measured.is_result())
        .filter_map(|run| run.measured.cut_short.as_ref());
    if reasons.any(|reason| matches!(reason, CutShort::Lost(_))) {
        return Exit::Peer;
    }
    let has_failed = done.runs.iter().any(|run| !run.measured.is_result());
    if has_failed || done.is_interrupted {
        Exit::Failed
    } else {
        Exit::Done
    }
}
