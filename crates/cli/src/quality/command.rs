//! The test as it happens: from its flags to what is shown of it.

use super::args::QualityArgs;
use crate::command_run::CommandRun;
use crate::exit::{Exit, Failure};
use crate::machine_checks::check_congestion;
use crate::measure_failure::plan_failure;
use crate::output::line_width;
use crate::output::views::Views;
use crate::peer::{connect_native, describe};
use caudal_core::marks::Dscp;
use caudal_core::quantity::Unit;
use caudal_engine::Target;
use caudal_measure::{ObservationRequest, PhaseRequest, QualityPhases, QualityRequest, ViaTarget};
use caudal_sys::signal::Interrupt;
use caudal_sys::tcp;
use caudal_views::headline::quality_headline;

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
        via: via_target(args)?,
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
    views.note(&quality_headline(
        &describe(&peer),
        &phases.plans,
        line_width(),
    ));
    if let Some(note) = slow_link_note(&phases) {
        views.note(&note);
    }
    let measured = request.measure(&phases, &mut peer, &mut run.control(&mut views, interrupt))?;
    // The user may look at the result for long, and others wait for the place at the server.
    drop(peer);
    run.finish(measured, views, Vec::new)
}

/// The host on the way that is named, with its address.
fn via_target(args: &QualityArgs) -> Result<Option<ViaTarget>, Failure> {
    let Some(host) = &args.via else {
        return Ok(None);
    };
    let target = Target {
        host: host.clone(),
        port: 0,
        ..args.target.target()
    };
    let addresses = target.resolve().map_err(Failure::from)?;
    let address = *addresses
        .first()
        .ok_or_else(|| Failure::from(target.no_address()))?;
    Ok(Some(ViaTarget {
        host: host.clone(),
        address,
    }))
}

/// What the test does otherwise where the path is slow; `None` where it is not.
fn slow_link_note(phases: &QualityPhases) -> Option<String> {
    let (slow, plan) = (phases.slow?, phases.plans.first()?);
    Some(format!(
        "slow link, about {}: a UDP probe every {}, and {} s for its reply",
        Unit::BitPerSecond.show(slow.bps),
        Unit::Seconds.show(plan.probes.udp_ns as f64 / 1e9),
        plan.timeout.as_secs(),
    ))
}
