//! The goodput of each of several runs.

use caudal_core::plan::Direction;

/// The goodput of each completed run in a direction.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionGoodputs {
    /// The direction.
    pub direction: Direction,
    /// The mean goodput of each run, bit/s.
    pub goodputs_bps: Vec<f64>,
}
