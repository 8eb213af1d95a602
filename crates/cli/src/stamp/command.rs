//! The test with STAMP as it happens: from its flags to what is shown of it.

use super::args::StampArgs;
use super::key_file::read_stamp_key;
use super::plan::stamp_plan;
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::output::line_width;
use crate::output::views::Views;
use crate::round_trip_samples::round_trip_samples;
use caudal_engine::{LocalBinding, RunError, Target};
use caudal_measure::{MeasureError, StampRequest};
use caudal_sys::signal::Interrupt;
use caudal_views::headline::stamp_headline;
use caudal_wire::stamp::PORT;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Runs `caudal stamp`.
///
/// # Errors
/// When nothing could be measured.
pub fn stamp(args: &StampArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let target_args = args.target_args();
    target_args.check()?;
    let plan = stamp_plan(args)?;
    let key = args.key_file.as_deref();
    let key = key
        .map(|path| read_stamp_key(path, "--key-file"))
        .transpose()?;
    let request = StampRequest {
        plan,
        key,
        seed: args.seed.unwrap_or_else(caudal_sys::clock::realtime_ns),
        confidence: args.output.confidence,
    };
    let target = target_args.target();
    let target = Target {
        port: target_args.given_port().unwrap_or(PORT),
        binding: LocalBinding {
            port: args.local_port,
            ..target.binding.clone()
        },
        ..target
    };
    let mut views = Views::open(&args.output, false)?;
    let run = CommandRun::begin(&args.output.store);
    let peer = match &args.host {
        Some(host) => format!("{} port {}", host.host, target.port),
        None => "a reflector on this machine".to_owned(),
    };
    views.note(&stamp_headline(&peer, &request.plan, line_width()));
    let mut control = run.control(&mut views, interrupt);
    let measured = match args.host {
        Some(_) => request.measure(&target, &mut control),
        None => {
            let loopback: IpAddr = match args.ipv6 {
                true => Ipv6Addr::LOCALHOST.into(),
                false => Ipv4Addr::LOCALHOST.into(),
            };
            request.measure_here(loopback, &target, &mut control)
        }
    };
    let measured = measured.map_err(|error| failure(error, &target_args, &target))?;
    let samples = || round_trip_samples(&measured.record);
    run.finish(measured.measured, views, samples)
}

/// The failure of a test without a result, with what is to be looked at.
fn failure(error: MeasureError, args: &crate::args::TargetArgs, target: &Target) -> Failure {
    let advice = match &error {
        MeasureError::Run(RunError::Silent { .. }) => format!(
            "see whether a reflector listens on UDP port {} of that host and answers this one (`caudal serve --stamp`), and whether it wants authentication (--key-file)",
            target.port
        ),
        MeasureError::Run(RunError::Connect { cause, .. })
            if cause.kind() == ErrorKind::ConnectionRefused =>
        {
            format!(
                "nothing listens on UDP port {} of that host: start `caudal serve --stamp` there, or name the reflector's port with -p",
                target.port
            )
        }
        MeasureError::Run(RunError::Protocol(_)) => {
            "give both ends the same key, or leave it out at both".to_owned()
        }
        MeasureError::Run(RunError::Local { cause, .. })
            if cause.raw_os_error() == Some(EMSGSIZE) =>
        {
            "give a smaller --length: packets are not fragmented".to_owned()
        }
        _ => return args.connect_failure(error),
    };
    Failure {
        advice,
        ..Failure::from(error)
    }
}

/// `EMSGSIZE` of Linux.
const EMSGSIZE: i32 = 90;
