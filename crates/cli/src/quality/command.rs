//! The test as it happens: from its flags to what is shown of it.

use super::args::QualityArgs;
use super::headline::{headline, slow_link_note};
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::machine_checks::check_congestion;
use crate::output::views::Views;
use crate::peer::connect_native;
use crate::plan_failure::plan_failure;
use caudal_core::dscp::Dscp;
use caudal_measure::{ObservationRequest, PhaseRequest, QualityRequest};
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;

/// Runs `caudal quality`.
///
/// # Errors
/// When nothing could be measured.
pub fn quality(args: &QualityArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    args.target.check()?;
    let request = QualityRequest {
        phases: PhaseRequest {
            idle: args.idle,
            time: args.time,
            omit: args.omit,
            parallel: args.parallel,
            congestion: args.congestion.clone(),
            dscp: args.dscp.map(Dscp::get),
        },
        confidence: args.output.confidence,
    };
    // Before anything is connected to: a flag out of range costs nothing.
    request
        .phases
        .check()
        .map_err(|error| plan_failure(&error))?;
    if let Some(name) = &args.congestion {
        check_congestion(name, &tcp::available_congestion_controls())?;
    }
    let mut views = Views::open(&args.output, false)?;
    let observation = ObservationRequest::default();
    let mut peer = connect_native(&args.target, observation, interrupt)?;
    let phases = request.prepare(&mut peer)?;
    let run = CommandRun::begin(&args.output.store);
    views.note(&headline(&peer, &phases.plans));
    if let Some(note) = slow_link_note(&phases) {
        views.note(&note);
    }
    let measured = request.measure(&phases, &mut peer, &mut run.control(&mut views, interrupt))?;
    run.finish(measured, views, Vec::new)
}
