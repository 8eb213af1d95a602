//! Everything a test of latency under load measured.

use super::phase_run::PhaseRun;
use caudal_core::quality::ViaHost;
use caudal_engine::peer::PeerInfo;

/// Everything the test measured.
pub(super) struct QualityMeasured<'a> {
    pub(super) peer: &'a PeerInfo,
    /// The phases that were carried out, in order.
    pub(super) phases: &'a [PhaseRun],
    /// The phases that were planned.
    pub(super) planned: usize,
    /// The reason why a phase was not carried out.
    pub(super) failure: Option<String>,
    pub(super) confidence: f64,
    /// The time the first phase began, ns since 1970.
    pub(super) began_ns: Option<u64>,
    /// The echoes of a host on the way.
    pub(super) via: Option<ViaHost>,
}
