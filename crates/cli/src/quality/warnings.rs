//! The doubts about a test of latency under load.

use super::measured::QualityMeasured;
use super::phase_run::PhaseRun;
use caudal_core::plan::PhaseLoad;
use caudal_core::summary::DirectionSummary;
use caudal_core::warning::{Warning, WarningCode};

/// Bits that the probes take of a second, each way: UDP every 15 ms, TCP every 100 ms, five new connections.
const PROBES_BPS: f64 = 95e3;
/// The part of the goodput that probes may take (PTC of draft-ietf-ippm-responsiveness).
const MAX_PROBE_SHARE: f64 = 0.05;

/// The doubts about a test.
pub(super) fn warnings(measured: &QualityMeasured<'_>) -> Vec<Warning> {
    let mut all: Vec<Warning> = cut_short(measured).into_iter().collect();
    for phase in measured.phases {
        let name = phase.plan.load.name();
        let of_load = phase.warnings.iter().filter(|warning| {
            // Told above, or once for the whole test.
            !matches!(
                warning.code,
                WarningCode::CutShort | WarningCode::ServerChangedPlan
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
        all.extend(changed(phase));
    }
    all.extend(probes_as_load(measured));
    all
}

fn cut_short(measured: &QualityMeasured<'_>) -> Option<Warning> {
    let last = measured.phases.last()?;
    let reason = last.cut_short.as_ref().map(ToString::to_string);
    let reason = reason.or_else(|| measured.failure.map(str::to_owned))?;
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
    (PROBES_BPS > MAX_PROBE_SHARE * slowest).then(|| {
        Warning::new(
            WarningCode::TooShort,
            format!(
                "the probes themselves take {:.0} kbit/s each way, more than a twentieth of the goodput",
                PROBES_BPS / 1e3
            ),
        )
        .with_remedy("take the goodput as that much too low")
    })
}
