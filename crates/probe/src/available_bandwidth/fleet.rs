//! Several streams at one rate.

use super::delay_stream::{DelayStream, DelayTrend, TrendStatistics};
use crate::cannot_tell::CannotTell;

/// Share of the streams that must agree, as in the paper. With the 0.6 of pathload 1.3.2 fewer brackets contain the true value.
const AGREEMENT: f64 = 0.7;
/// Minimum streams with a result for a fleet to have one.
const MIN_STREAMS: usize = 5;

/// Where a rate lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FleetOutcome {
    /// Above the available bandwidth.
    Above,
    /// Below the available bandwidth.
    Below,
    /// Within the range over which the available bandwidth varied from stream to stream.
    Grey,
}

/// Where the rate of a fleet of streams lies: 70 % of the streams decide.
///
/// A rate at which half of the streams lose 3 % of their packets or more is too high.
///
/// # Errors
/// When fewer than five streams have statistics.
pub fn fleet_outcome(streams: &[DelayStream]) -> Result<FleetOutcome, CannotTell> {
    let known: Vec<TrendStatistics> = streams
        .iter()
        .filter_map(|stream| stream.statistics().ok())
        .collect();
    if known.len() < MIN_STREAMS {
        return Err(CannotTell::TooFew {
            what: "streams with a result",
            have: known.len() as u64,
            need: MIN_STREAMS as u64,
        });
    }
    let part = |counts: &dyn Fn(&TrendStatistics) -> bool| {
        known.iter().filter(|stream| counts(stream)).count() as f64 / known.len() as f64
    };
    let lossy = part(&TrendStatistics::has_moderate_loss) >= 0.5;
    Ok(
        if lossy || part(&|stream| stream.trend() == DelayTrend::Increasing) >= AGREEMENT {
            FleetOutcome::Above
        } else if part(&|stream| stream.trend() == DelayTrend::NotIncreasing) >= AGREEMENT {
            FleetOutcome::Below
        } else {
            FleetOutcome::Grey
        },
    )
}
