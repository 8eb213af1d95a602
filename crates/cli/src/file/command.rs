//! The transfers as they happen: from their flags to what is shown of them.

use super::args::FileArgs;
use super::cells::cells;
use super::congestion::check_congestion;
use super::contents::contents;
use super::destination::destination;
use super::file_views::FileViews;
use super::headline::headline;
use super::local_files::LocalContents;
use super::not_sent::NotSent;
use super::plan::planned_cells;
use super::progress::FileProgress;
use super::run_count::{first_stage, goal};
use super::usage_checks::{check_usage, is_comparison};
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::output::views::Views;
use crate::peer::connect;
use caudal_core::plan::FileProtocol;
use caudal_core::warning::{Warning, WarningCode};
use caudal_measure::{FileContent, FileRequest};
use caudal_stats::random::mix;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use std::path::{Path, PathBuf};

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
    let LocalContents {
        files, left_out, ..
    } = contents(args)?;
    let mut request = file_request(args, files)?;
    let mut views = Views::open(&args.output, false)?;
    if let Some(at) = args.at {
        at.approach(interrupt)?;
    }
    let (server, observation) = (request.server.clone(), args.capture.request());
    let mut peer = connect(&args.target, server, observation, interrupt)?;
    request.prepare(&mut peer)?;
    let run = CommandRun::begin(&args.output.store);
    request.keeps_parts = run.is_recorded();
    let named_cells = request.named_cells();
    views.note(&headline(&peer, args, &named_cells));
    if args.via.contains(&FileProtocol::Quic) && args.packet.iter().any(|size| *size != 1400) {
        views.note("quic has datagrams of up to 1400 bytes, as the path carries them: --packet is for the others");
    }
    let has_screen = views.has_screen();
    let mut file_views = FileViews {
        views: &mut views,
        progress: FileProgress::new(&named_cells, args.output.quiet || has_screen),
        is_verbose: args.output.verbose,
    };
    let mut control = run.control(&mut file_views, interrupt);
    let measured = request.measure(&mut peer, &mut control);
    file_views.progress.close();
    let mut measured = measured?;
    let run_document = &mut measured.measured.run;
    let not_sent = NotSent::new(&left_out, &measured.unread, run_document.transfers());
    if !not_sent.is_empty() {
        for line in not_sent.lines() {
            views.note(&line);
        }
        run_document.warnings.push(not_sent.warning());
    }
    if args.send.is_some() || args.get.is_some() {
        offer_resumption(&mut measured.measured.run.warnings, args.resume);
    }
    drop(peer);
    let exit = run.finish_with_parts(measured.measured, measured.parts, views, Vec::new)?;
    Ok(match exit {
        Exit::Done if !not_sent.is_empty() => Exit::Failed,
        exit => exit,
    })
}

/// Says how to go on with a file of which a part has arrived.
fn offer_resumption(warnings: &mut [Warning], is_resumed: bool) {
    let again = if is_resumed { "again " } else { "" };
    for warning in warnings {
        if warning.code == WarningCode::CutShort {
            let remedy = format!("--resume goes on {again}with what has arrived");
            warning.remedy = remedy.into();
        }
    }
}

/// What the flags ask for.
///
/// # Errors
/// Names the flag that is wrong.
fn file_request(args: &FileArgs, contents: Vec<FileContent>) -> Result<FileRequest, Failure> {
    check_usage(args)?;
    check_congestion(args, &tcp::available_congestion_controls())?;
    let seed = args.seed.unwrap_or_else(|| mix(realtime_ns()) & MAX_SEED);
    let cells = planned_cells(args, cells(args, contents.len()), &contents, seed)?;
    Ok(FileRequest {
        destination: destination(args, &contents)?,
        server: args.target.file_server()?,
        contents,
        cells,
        fits_path: args.packet.is_empty(),
        seed,
        first_stage: first_stage(args),
        goal: goal(args),
        is_goal_asked: args.until.is_some(),
        is_comparison: is_comparison(args),
        start_at_ns: args.at.map(|at| at.0),
        keeps_parts: false,
    })
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
