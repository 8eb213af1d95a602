//! The doubts about a test of latency under load.

use super::measured::QualityMeasured;
use super::phase_run::{PhaseRun, marks_of_phases};
use caudal_core::episode::episode_warnings;
use caudal_core::loss::RefusedSends;
use caudal_core::plan::{Direction, PhaseLoad, Transport};
use caudal_core::summary::DirectionSummary;
use caudal_core::warning::{Warning, WarningCode};

/// The part of the goodput that probes may take (PTC of draft-ietf-ippm-responsiveness), with room for what an estimate of the rate before
/// the test may be off by.
const MAX_PROBE_SHARE: f64 = 0.075;

/// The doubts about a test.
pub(super) fn warnings(measured: &QualityMeasured<'_>) -> Vec<Warning> {
    let mut all: Vec<Warning> = host_busy(measured).into_iter().collect();
    all.extend(cut_short(measured));
    all.extend(measured.peer.path_warnings(Transport::Tcp));
    for phase in measured.phases {
        let name = phase.plan.load.name();
        let of_load = phase.warnings.iter().filter(|warning| {
            // Reported above, or once for the whole test.
            !matches!(
                warning.code,
                WarningCode::CutShort
                    | WarningCode::ServerChangedPlan
                    | WarningCode::Outage
                    | WarningCode::PeerStopped
                    | WarningCode::ProgramStopped
                    | WarningCode::TcpProxy
                    | WarningCode::PartialFlows
            )
        });
        for warning in of_load {
            if all.iter().all(|known| known.code != warning.code) {
                all.push(Warning {
                    message: format!("{name}: {}", warning.message).into(),
                    ..warning.clone()
                });
            }
        }
        all.extend(episode_warnings(&phase.episodes));
        all.extend(changed(phase));
    }
    for (way, direction) in [Direction::Up, Direction::Down].into_iter().enumerate() {
        let marks = marks_of_phases(measured.phases, way);
        all.extend(
            marks
                .iter()
                .flat_map(|marks| marks.warnings(direction.in_text())),
        );
    }
    all.extend(send_refused(measured));
    all.extend(probes_as_load(measured));
    all
}

/// The end that was too busy to measure, before everything that its waits explain.
fn host_busy(measured: &QualityMeasured<'_>) -> Option<Warning> {
    let mut phases = measured.phases.iter();
    let (phase, reason) = phases.find_map(|phase| Some((phase, phase.measurements.busy_end()?)))?;
    let message = format!("{}: {reason}", phase.plan.load.name());
    Some(Warning::new(WarningCode::HostBusy, message))
}

fn cut_short(measured: &QualityMeasured<'_>) -> Option<Warning> {
    let last = measured.phases.last()?;
    let reason = last.cut_short.as_ref().map(ToString::to_string);
    let reason = reason.or_else(|| measured.failure.clone())?;
    let (done, planned) = (measured.phases.len(), measured.planned);
    let message = format!("the test ended early, in phase {done} of {planned}: {reason}");
    Some(Warning::new(WarningCode::CutShort, message))
}

fn changed(phase: &PhaseRun) -> Option<Warning> {
    let changes: Vec<String> = phase.changed.iter().map(ToString::to_string).collect();
    (!changes.is_empty()).then(|| {
        let message = format!("{}: {}", phase.plan.load.name(), changes.join("; "));
        Warning::new(WarningCode::ServerChangedPlan, message)
    })
}

fn send_refused(measured: &QualityMeasured<'_>) -> Option<Warning> {
    let mut refused = RefusedSends::default();
    for phase in measured.phases {
        refused += phase.measurements.udp.refused;
    }
    refused.warning("probes", "this host")
}

/// The probes are a load themselves where there is little else.
fn probes_as_load(measured: &QualityMeasured<'_>) -> Option<Warning> {
    let loads = measured
        .phases
        .iter()
        .filter(|phase| phase.plan.load != PhaseLoad::Idle);
    let slowest = loads
        .flat_map(|phase| &phase.measurements.directions)
        .filter_map(DirectionSummary::goodput_mean)
        .fold(f64::INFINITY, f64::min);
    let probes_bps = measured.phases.first()?.plan.probes.bps();
    let is_known = slowest.is_finite() && slowest > 0.0;
    (is_known && probes_bps > MAX_PROBE_SHARE * slowest).then(|| {
        Warning::new(
            WarningCode::TooShort,
            format!(
                "the probes themselves take {:.1} kbit/s each way, {:.0} % of the goodput",
                probes_bps / 1e3,
                probes_bps / slowest * 100.0
            ),
        )
        .with_remedy("take the goodput as that much too low")
    })
}
