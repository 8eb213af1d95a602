//! Several tests of one host as they happen: from their flags to the verdict.

use super::args::PathCheckArgs;
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::output::views::Views;
use crate::path::path_without_capacities;
use caudal_core::check::{CheckPart, CheckReport, CheckVerdict};
use caudal_core::units::{ByteCount, format_duration};
use caudal_measure::{CheckObserver, CheckRequest, ProbedPathRequest, RunEnding, ServerChoice};
use caudal_sys::signal::Interrupt;
use caudal_views::check::{fold_line, line};
use caudal_views::text;
use std::time::Duration;

/// Minimum of `--max-bytes`: below it a test moves less than a few packets.
const MIN_BYTES: ByteCount = ByteCount::new(1_000_000);

/// Runs `caudal check`.
///
/// # Errors
/// When nothing could be measured.
pub fn check(args: &PathCheckArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    if args.max_bytes.is_some_and(|bytes| bytes < MIN_BYTES) {
        return Err(Failure::usage(
            format!("--max-bytes is {}", args.max_bytes.unwrap_or(MIN_BYTES)),
            format!("it must be at least {MIN_BYTES}"),
        ));
    }
    let server = match &args.target.host {
        // A server of iperf3 answers at that port as well.
        Some(_) => args.target.any_server()?,
        None => args.target.native_server()?,
    };
    let is_own = matches!(server, ServerChoice::Own { .. });
    let has_family = args.target.ipv4 || args.target.ipv6 || args.target.bind.is_some();
    let request = CheckRequest {
        host: match &args.target.host {
            Some(host) => host.to_string(),
            None => "this machine".to_owned(),
        },
        families: (!is_own && !has_family).then(|| args.target.target()),
        path: match path_without_capacities(&args.target, args.output.confidence) {
            Ok(request) => ProbedPathRequest::Probed(Box::new(request)),
            Err(failure) => ProbedPathRequest::Impossible(failure.message),
        },
        server,
        quick: args.quick,
        parallel: args.parallel,
        max_bytes: args.max_bytes,
        confidence: args.output.confidence,
    };
    let mut views = Views::open(&args.output, false)?;
    let run = CommandRun::begin(&args.output.store);
    let about = if args.quick { "15 s" } else { "about a minute" };
    let headline = format!(
        "checking {}, {about}; [COMMAND]: caudal COMMAND HOST measures it closely",
        request.host
    );
    views.note(&text::fold(&headline, 4, views.line_width()));
    let measured = {
        let mut observer = LiveCheck { views: &mut views };
        request.measure(&run.started, &mut observer, interrupt)
    };
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            views.abandon();
            return Err(args.target.connect_failure(error));
        }
    };
    let verdict = measured.measured.run.check().map(|report| report.verdict);
    let is_complete = matches!(measured.measured.ending, RunEnding::Complete);
    let exit = run.finish_with_parts(measured.measured, measured.parts, views, Vec::new)?;
    Ok(match verdict {
        _ if !is_complete => exit,
        Some(CheckVerdict::Unhealthy) => Exit::Unmet,
        Some(CheckVerdict::Undecided) => Exit::Undecided,
        Some(CheckVerdict::Healthy) | None => exit,
    })
}

/// A line for each test once its figures are known, and in a terminal what is being measured.
struct LiveCheck<'a> {
    views: &'a mut Views,
}

impl CheckObserver for LiveCheck<'_> {
    fn part_begins(&mut self, part: CheckPart, time: Option<Duration>) {
        let time = time.map_or_else(String::new, |time| format!(", {}", format_duration(time)));
        self.views
            .transient(&format!("measuring {}{time}", part.name()));
    }

    fn part_ended(&mut self, part: CheckPart, report: &CheckReport) {
        self.views.end_transient();
        if let Some(line) = line(report, part) {
            let line = fold_line(&line, self.views.line_width());
            self.views.note(&line);
        }
    }

    fn is_unread(&self) -> bool {
        self.views.is_unread()
    }
}
