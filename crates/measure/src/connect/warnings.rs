//! The doubts about a test of the connection rate.

use caudal_core::episode::episode_warnings;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::ConnectOutcome;

/// The doubts about a test, after those about its path.
pub(super) fn warnings(outcome: &ConnectOutcome, of_path: Vec<Warning>) -> Vec<Warning> {
    let cut_short = outcome.cut_short.as_ref().map(|cut| {
        Warning::new(
            WarningCode::CutShort,
            format!("the test ended early: {cut}"),
        )
    });
    let mut all: Vec<Warning> = cut_short.into_iter().chain(of_path).collect();
    all.extend(episode_warnings(&outcome.episodes));
    let changed = outcome.changed.iter();
    all.extend(changed.map(|change| Warning::new(WarningCode::ServerChangedPlan, change.clone())));
    all
}
