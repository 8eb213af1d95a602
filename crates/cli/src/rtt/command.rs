//! The round-trip test as it happens: from its plan through its events to its result.

use super::args::RttArgs;
use super::assemble::assemble;
use super::measured::Measured;
use super::plan::{EchoTest, echo_test};
use crate::capture::TestObservation;
use crate::exit::{Exit, Failure};
use crate::invocation::started_run;
use crate::output::round_trips;
use crate::output::sink::Sink;
use crate::output::text;
use crate::output::views::Views;
use crate::peer::CommandPeer;
use crate::recording::{CommandRecording, run_outcome};
use crate::throughput::check_link_rate;
use caudal_core::echo::EchoSummaryOptions;
use caudal_core::event::{CutShort, Event, View};
use caudal_core::plan::{EchoPlan, EchoSchedule, Plan, PlanRecord};
use caudal_core::units::format_duration;
use caudal_engine::{EchoLocalOptions, EchoOutcome, LocalOptions, RunError};
use caudal_sys::affinity;
use caudal_sys::signal::Interrupt;
use std::time::Duration;

/// Runs `caudal rtt`.
///
/// # Errors
/// When nothing could be measured.
pub fn rtt(args: &RttArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    args.capture.check([
        ("--raw", args.raw.as_deref()),
        ("--output", args.output.output.as_deref()),
        ("--token-file", args.target.token_file.as_deref()),
    ])?;
    let EchoTest {
        plan,
        time,
        left_out,
    } = echo_test(args)?;
    check_link_rate(args.link_rate)?;
    let available = affinity::available_cpus();
    if let Some(cpu) = args.affinity.iter().find(|cpu| !available.contains(cpu)) {
        return Err(Failure::usage(
            format!("--affinity names processor {cpu}, which this program may not use"),
            format!("it may use {available:?}"),
        ));
    }
    let local = LocalOptions {
        affinity: args.affinity.clone(),
        start_at_ns: args.at.map(|at| at.0),
        echo: EchoLocalOptions {
            seed: args.seed.unwrap_or_else(caudal_sys::clock::realtime_ns),
            time,
            kernel_timestamps: true,
            interval: Some(args.interval),
            report_replies: false,
        },
        ..LocalOptions::default()
    };
    if let Some(at) = args.at {
        at.approach(interrupt)?;
    }
    let mut views = Views::open(&args.output, args.table)?;
    let mut raw = args.raw.as_deref().map(Sink::file).transpose()?;
    let mut observation = TestObservation::prepare(&args.capture, &args.target)?;
    let mut peer = CommandPeer::connect(&args.target, interrupt)?;
    let started = started_run();
    let recording = CommandRecording::start(&args.output.store);
    views.note(&headline(&peer, &plan, time, args));
    let record = PlanRecord::from(&Plan::Echo(plan.clone()));
    observation.begin(&args.capture, &args.target, &peer, (&started, &record))?;
    let (echo, began_ns) = carry_out(&mut peer, &plan, &local, &mut views)?;
    let sizes = echo.record.summarise(EchoSummaryOptions {
        confidence: args.output.confidence,
        include_first: args.include_first,
    });
    if let Some(raw) = &mut raw {
        raw.line(round_trips::RAW_COLUMNS);
        for series in round_trips::raw(&echo.record) {
            raw.write(&series);
        }
    }
    let exit = match &echo.cut_short {
        Some(CutShort::Lost(_)) => Exit::Peer,
        Some(_) => Exit::Failed,
        None => Exit::Done,
    };
    let outcome = run_outcome(exit, echo.cut_short.is_some());
    let mut run = assemble(&Measured {
        args,
        peer: peer.info(),
        started: &started,
        echo: &echo,
        sizes: &sizes,
        began_ns,
        seed: local.echo.seed,
        left_out: &left_out,
    });
    let exit = observation.end(&mut run, exit);
    let finished = Event::Finished { run: Box::new(run) };
    views.event(&finished);
    if let Event::Finished { run } = &finished {
        let samples = || round_trips::series(&echo.record);
        if let Some(note) =
            recording.record(peer.info().address.ip(), &started, run, outcome, samples)
        {
            views.note(&note);
        }
    }
    views.finish()?;
    if let Some(raw) = &mut raw {
        raw.finish()?;
    }
    Ok(exit)
}

fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The test in a line: what is sent, to whom, when.
fn headline(peer: &CommandPeer, plan: &EchoPlan, time: Option<Duration>, args: &RttArgs) -> String {
    let number = match (time, args.count) {
        (Some(time), None) => format!("for {}, messages", format_duration(time)),
        (Some(time), Some(count)) => format!(
            "for up to {}, {}",
            format_duration(time),
            plural(count, "message")
        ),
        (None, _) => plural(plan.count, "message"),
    };
    let sizes = match plan.sizes.as_slice() {
        [size] => format!("{size} B"),
        sizes => format!("each of {} sizes", sizes.len()),
    };
    let schedule = match plan.schedule {
        EchoSchedule::StopAndWait => "one after another".to_owned(),
        EchoSchedule::Every { period, poisson } => {
            let gaps = if poisson {
                " on average (exponential gaps)"
            } else {
                ""
            };
            format!("one every {}{gaps}", format_duration(period))
        }
    };
    let has_table = plan.sizes.len() > 1 || args.output.verbose;
    let unit = if has_table && !args.table {
        "; times in µs"
    } else {
        ""
    };
    text::fold(
        &format!(
            "{} round trips with {}: {}, {number} of {sizes}, {schedule}{unit}",
            plan.transport,
            peer.describe(),
            plural(u64::from(plan.clients), "client"),
        ),
        4,
    )
}

/// Carries the plan out; the measurements, and the time the first message was sent, ns since 1970.
fn carry_out(
    peer: &mut CommandPeer,
    plan: &EchoPlan,
    local: &LocalOptions,
    views: &mut Views,
) -> Result<(EchoOutcome, Option<u64>), RunError> {
    let mut began_ns = None;
    let outcome = peer
        .peer_mut()
        .run(&Plan::Echo(plan.clone()), local, &mut |event| {
            if matches!(event, Event::Started { .. }) {
                began_ns = Some(caudal_sys::clock::realtime_ns());
            }
            views.event(&event);
        });
    if outcome.is_err() {
        views.abandon();
    }
    let outcome = outcome?
        .into_echo()
        .ok_or_else(|| RunError::Protocol("no round-trip test".into()))?;
    Ok((outcome, began_ns))
}
