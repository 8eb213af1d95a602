//! The measurements of a test that was carried out.

use super::bulk::BulkOutcome;
use super::connect::ConnectOutcome;
use super::quality::QualityOutcome;
use super::rtt::RttOutcome;
use super::trains::TrainsOutcome;
use super::transfer::TransferOutcome;
use caudal_core::event::CutShort;

/// The measurements of a test that was carried out, by its workload.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A bulk transfer.
    Bulk(Box<BulkOutcome>),
    /// A round-trip test.
    Rtt(Box<RttOutcome>),
    /// A test of the connection rate.
    Connect(Box<ConnectOutcome>),
    /// A phase of a test of latency under load.
    Quality(Box<QualityOutcome>),
    /// A file transfer.
    Transfer(Box<TransferOutcome>),
    /// Trains of datagrams.
    Trains(Box<TrainsOutcome>),
}

impl Outcome {
    /// The bulk transfer; `None` for any other workload.
    #[must_use]
    pub fn into_bulk(self) -> Option<BulkOutcome> {
        match self {
            Self::Bulk(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The round-trip test; `None` for any other workload.
    #[must_use]
    pub fn into_rtt(self) -> Option<RttOutcome> {
        match self {
            Self::Rtt(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The test of the connection rate; `None` for any other workload.
    #[must_use]
    pub fn into_connect(self) -> Option<ConnectOutcome> {
        match self {
            Self::Connect(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The phase of a test of latency under load; `None` for any other workload.
    #[must_use]
    pub fn into_quality(self) -> Option<QualityOutcome> {
        match self {
            Self::Quality(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The file transfer; `None` for any other workload.
    #[must_use]
    pub fn into_transfer(self) -> Option<TransferOutcome> {
        match self {
            Self::Transfer(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The trains of datagrams; `None` for any other workload.
    #[must_use]
    pub fn into_trains(self) -> Option<TrainsOutcome> {
        match self {
            Self::Trains(outcome) => Some(*outcome),
            _ => None,
        }
    }

    /// The reason why the test ended before its plan did.
    #[must_use]
    pub fn cut_short(&self) -> Option<&CutShort> {
        match self {
            Self::Bulk(outcome) => outcome.cut_short.as_ref(),
            Self::Rtt(outcome) => outcome.cut_short.as_ref(),
            Self::Connect(outcome) => outcome.cut_short.as_ref(),
            Self::Quality(outcome) => outcome.cut_short.as_ref(),
            Self::Transfer(outcome) => outcome.cut_short.as_ref(),
            Self::Trains(outcome) => outcome.cut_short.as_ref(),
        }
    }
}
