//! The episodes of a round-trip test.

use super::conditions::RttConditions;
use caudal_analysis::echo::delay_episode;
use caudal_core::episode::Episode;

/// The episodes seen while the test ran, and those of delay in its round trips.
pub(super) fn episodes(measured: &RttConditions<'_>) -> Vec<Episode> {
    let series = measured.echo.record.series.iter();
    let delays = series.filter_map(|series| delay_episode(series, measured.confidence));
    let mut all = measured.echo.episodes.clone();
    all.extend(delays);
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}
