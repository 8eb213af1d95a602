//! The result of a test of latency under load, from its phases.

use super::advice::advice;
use caudal_core::plan::PhaseLoad;
use caudal_core::quality::{GradeReport, PhaseReport, QualityInterval, QualityReport};

/// The result of these phases, with the advice that follows from them.
#[must_use]
pub fn quality_report(
    phases: Vec<PhaseReport>,
    intervals: Vec<QualityInterval>,
    confidence: f64,
) -> QualityReport {
    QualityReport {
        grade: grade(&phases),
        advice: advice(&phases),
        phases,
        intervals,
        confidence,
        via: None,
        marks_up: None,
        marks_down: None,
        cpu: None,
        cut_short: None,
    }
}

/// The grade of a test with these phases, by those whose load filled the path; `None` unless both download and upload were carried out,
/// and without any of them.
fn grade(phases: &[PhaseReport]) -> Option<GradeReport> {
    let loads = [PhaseLoad::Download, PhaseLoad::Upload];
    let find = |load| {
        phases
            .iter()
            .find(|phase: &&PhaseReport| phase.load == load)
    };
    let both = loads.map(find);
    if both.iter().any(Option::is_none) {
        return None;
    }
    let graded = both.into_iter().flatten().filter_map(|phase| {
        phase.grade?;
        Some((phase.load, phase.added_rtt?.mean_us))
    });
    GradeReport::of_increases(&graded.collect::<Vec<_>>())
}
