//! The episodes of a round-trip test.

use super::conditions::RttConditions;
use caudal_analysis::echo::{delay_episode, delay_level_episodes};
use caudal_core::episode::Episode;

/// The episodes seen while the test ran, and those of delay in its round trips.
pub(super) fn episodes(measured: &RttConditions<'_>) -> Vec<Episode> {
    let series = &measured.echo.record.series;
    let delays = series
        .iter()
        .filter_map(|series| delay_episode(series, measured.confidence));
    let mut all = measured.echo.episodes.clone();
    all.extend(delays);
    // Clients measure the same path at the same time.
    all.extend(series.first().into_iter().flat_map(delay_level_episodes));
    all.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    all
}
