//! The measurements of a file transfer.

use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, Plan, PlanRecord, TransferPlan};
use caudal_core::text::ExternalText;
use caudal_core::transfer::{TransferEnd, TransferRecord};
use std::time::Duration;

/// The measurements of a file transfer.
#[derive(Debug, Clone)]
pub struct TransferOutcome {
    /// The plan both ends held.
    pub plan: TransferPlan,
    /// The changes the server made to it.
    pub changed: Vec<ExternalText>,
    /// `true` when the server lowered the rate that was asked for.
    pub server_set_rate: bool,
    /// The client's end.
    pub client: TransferEnd,
    /// The server's end; `None` when it did not report.
    pub server: Option<TransferEnd>,
    /// The time from the start to the end at the client, with what came before the transfer's own clock.
    pub elapsed: Duration,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why the transfer was ended early.
    pub cut_short: Option<CutShort>,
    /// The reason why the transfer did not complete, or why its content is not the sender's: it is no measurement then.
    pub failure: Option<ExternalText>,
}

impl TransferOutcome {
    /// The sending end.
    #[must_use]
    pub const fn sender(&self) -> Option<&TransferEnd> {
        match self.plan.direction {
            Direction::Up => Some(&self.client),
            Direction::Down => self.server.as_ref(),
        }
    }

    /// The receiving end.
    #[must_use]
    pub const fn receiver(&self) -> Option<&TransferEnd> {
        match self.plan.direction {
            Direction::Up => self.server.as_ref(),
            Direction::Down => Some(&self.client),
        }
    }

    /// `true` when everything arrived and its digest is the sender's.
    #[must_use]
    pub const fn is_verified(&self) -> bool {
        self.failure.is_none()
    }

    /// The transfer as a document carries it.
    #[must_use]
    pub fn into_record(self) -> TransferRecord {
        TransferRecord {
            plan: PlanRecord::from(&Plan::Transfer(self.plan)),
            changed: self.changed,
            client: self.client,
            server: self.server,
            elapsed_s: self.elapsed.as_secs_f64(),
            failure: self.failure,
            cut_short: self.cut_short.map(|reason| reason.to_string().into()),
        }
    }
}
