//! The round-trip test as it happens: from its flags to what is shown of it.

use super::args::RttArgs;
use super::plan::{EchoTest, echo_test};
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::machine_checks::{check_affinity, check_local_ports};
use crate::output::fold;
use crate::output::sink::Sink;
use crate::output::views::Views;
use crate::peer::{connect_native, describe};
use crate::round_trip_samples::round_trip_samples;
use crate::throughput::check_link_rate;
use caudal_core::plan::EchoPlan;
use caudal_engine::{EchoLocalOptions, LocalOptions};
use caudal_measure::{RttRequest, TestPeer};
use caudal_sys::signal::Interrupt;
use caudal_views::headline::rtt_headline;
use caudal_views::{column, round_trips};
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
    check_affinity(&args.affinity)?;
    check_local_ports(args.local_port, args.clients)?;
    let local = LocalOptions {
        partial: args.partial,
        local_port: args.local_port,
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
    let mut peer = connect_native(&args.target, args.capture.request(), interrupt)?;
    let mut request = RttRequest {
        plan,
        left_out,
        include_first: args.include_first,
        confidence: args.output.confidence,
        link_rate: args.link_rate,
        local,
    };
    request.prepare(&mut peer)?;
    let run = CommandRun::begin(&args.output.store);
    views.note(&headline(&peer, &request.plan, time, args));
    let measured = request.measure(&mut peer, &mut run.control(&mut views, interrupt))?;
    if let Some(raw) = &mut raw {
        raw.line(&column::header(&round_trips::SampleRow::COLUMNS));
        for series in round_trips::raw(&measured.record) {
            raw.write(&series);
        }
    }
    drop(peer);
    let samples = || round_trip_samples(&measured.record);
    let exit = run.finish(measured.measured, views, samples)?;
    if let Some(raw) = &mut raw {
        raw.finish()?;
    }
    Ok(exit)
}

/// The test in a line: what is sent, to whom, when.
fn headline(peer: &TestPeer, plan: &EchoPlan, time: Option<Duration>, args: &RttArgs) -> String {
    let has_table = plan.sizes.len() > 1 || args.output.verbose;
    let unit = if has_table && !args.table {
        "; times in µs"
    } else {
        ""
    };
    let line = rtt_headline(&describe(peer), plan, (time, args.count));
    fold(&format!("{line}{unit}"), 4)
}
