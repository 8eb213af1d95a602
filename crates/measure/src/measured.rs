//! What became of a measurement.

use crate::error::MeasureError;
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::event::CutShort;
use caudal_core::run::Run;
use std::net::IpAddr;

/// A measurement that was carried out, as far as it went.
#[derive(Debug)]
pub struct MeasuredRun {
    /// Its document.
    pub run: Run,
    /// How it ended.
    pub ending: RunEnding,
    /// The address of the other end.
    pub peer: IpAddr,
    /// The payload that arrived in each direction of a bulk transfer, read every 50 ms; none of any other workload.
    pub arrivals: Vec<ArrivalSeries>,
}

/// How a measurement with a result ended.
#[derive(Debug)]
pub enum RunEnding {
    /// Everything asked for was done.
    Complete,
    /// Everything asked for was done, but the capture of its traffic ended early.
    CaptureCutShort,
    /// It was carried out to its end, and what was asked for did not come out.
    Failed,
    /// The user or a limit ended it early.
    CutShort,
    /// It ended early because the peer was lost.
    PeerLost,
    /// It was carried out to its end, and the host did not answer, or refused.
    Unanswered,
    /// An error ended it after a part had been completed.
    Error(MeasureError),
    /// What this end measures alone was done; the other end took no part.
    PeerAbsent(MeasureError),
    /// What this end measures alone was done; an error ended what both ends measure.
    PartFailed(MeasureError),
}

impl RunEnding {
    /// The ending of a test that may have been cut short.
    #[must_use]
    pub const fn from_cut_short(cut_short: Option<&CutShort>) -> Self {
        match cut_short {
            None => Self::Complete,
            Some(CutShort::Lost(_)) => Self::PeerLost,
            Some(_) => Self::CutShort,
        }
    }
}
