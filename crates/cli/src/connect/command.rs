//! The test of the connection rate as it happens: from its flags to what is shown of it.

use super::args::ConnectArgs;
use super::plan::{at_stranger, connect_plan};
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::machine_checks::check_affinity;
use crate::output::line_width;
use crate::output::views::Views;
use crate::peer::{describe, try_native};
use caudal_engine::{LocalOptions, RunError};
use caudal_measure::{ConnectRequest, MeasureError, TestPeer, is_of_this_host};
use caudal_sys::signal::Interrupt;
use caudal_views::headline::connect_headline;

/// Ports below this are those of other services: no server of caudal is looked for at them.
const FIRST_USER_PORT: u16 = 1024;

/// Runs `caudal connect`.
///
/// # Errors
/// When nothing could be measured.
pub fn connect(args: &ConnectArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    args.capture.check([
        ("--output", args.output.output.as_deref()),
        ("--token-file", args.target.token_file.as_deref()),
    ])?;
    let plan = connect_plan(args)?;
    check_affinity(&args.affinity)?;
    let local = LocalOptions {
        affinity: args.affinity.clone(),
        ..LocalOptions::default()
    };
    let mut request = ConnectRequest {
        plan,
        confidence: args.output.confidence,
        local,
    };
    if args.any_server && args.target.host.is_none() {
        return Err(Failure::usage(
            "--any-server is given without a HOST",
            "name the host and its port, as HOST:PORT",
        ));
    }
    let Some(mut peer) = find_server(args, interrupt)? else {
        return connect_to_any(args, &mut request, interrupt);
    };
    let mut views = Views::open(&args.output, false)?;
    let run = CommandRun::begin(&args.output.store);
    let server = describe(&peer);
    views.note(&connect_headline(&server, &request.plan, line_width()));
    let measured = request.measure(&mut peer, &mut run.control(&mut views, interrupt))?;
    // The user may look at the result for long, and others wait for the place at the server.
    drop(peer);
    run.finish(measured, views, Vec::new)
}

/// Connects to the server of caudal; `None` where any other server is to do.
fn find_server(
    args: &ConnectArgs,
    interrupt: &'static Interrupt,
) -> Result<Option<TestPeer>, Failure> {
    let port = args.target.given_port();
    let is_of_service = port.is_some_and(|port| port < FIRST_USER_PORT);
    if args.any_server || (is_of_service && args.target.token_file.is_none()) {
        return Ok(None);
    }
    match try_native(&args.target, args.capture.request(), interrupt)? {
        Ok(peer) => Ok(Some(peer)),
        // Something listens there, and is not of caudal. Without a port there is nothing else that was meant.
        Err(error) if port.is_some() && is_other_server(&error) => Ok(None),
        Err(error) => Err(args.target.connect_failure(error)),
    }
}

/// `true` when a server answered, or closed, or waits, and is not of caudal.
const fn is_other_server(error: &MeasureError) -> bool {
    matches!(
        error,
        MeasureError::Run(
            RunError::Foreign { .. } | RunError::Silent { .. } | RunError::Lost { .. }
        )
    )
}

/// Opens connections to the port, whatever listens there.
fn connect_to_any(
    args: &ConnectArgs,
    request: &mut ConnectRequest,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let observation = args.capture.request();
    if observation.capture.is_some() || observation.offload.is_some() {
        return Err(Failure::usage(
            "a test with a server that is not caudal's has no capture of its own",
            "leave the capture out, or capture with tcpdump beside it",
        ));
    }
    let target = args.target.target();
    let addresses = target
        .resolve()
        .map_err(|error| args.target.connect_failure(error.into()))?;
    let is_own = args.my_server || addresses.iter().all(|address| is_of_this_host(*address));
    if !is_own {
        request.plan = at_stranger(request.plan.clone(), &target.host)?;
    }
    let mut views = Views::open(&args.output, false)?;
    let run = CommandRun::begin(&args.output.store);
    let server = format!("{} port {} (any server)", target.host, target.port);
    views.note(&connect_headline(&server, &request.plan, line_width()));
    let measured = request
        .measure_port(&target, &mut run.control(&mut views, interrupt))
        .map_err(|error| args.target.connect_failure(error))?;
    run.finish(measured, views, Vec::new)
}
