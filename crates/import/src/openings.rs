//! The rate at which connections open, as a log reports it: TCP_CRR of netperf.

use super::log_head::LogHead;
use caudal_core::connect::{ConnectReport, ConnectServer};
use caudal_core::plan::{ConnectPlanRecord, PlanRecord, Transport};
use caudal_core::run::RunResult;
use caudal_stats::Estimate;

/// The rate at which connections opened.
#[derive(Debug, Clone, PartialEq)]
pub struct OpeningLog {
    /// What every log reports.
    pub head: LogHead,
    /// Connections opened.
    pub opened: u64,
    /// Connections per second.
    pub per_s: f64,
    /// The duration, s.
    pub elapsed_s: f64,
}

impl OpeningLog {
    /// The plan, as far as the log shows it.
    #[must_use]
    pub fn plan(&self) -> PlanRecord {
        PlanRecord::Connect(ConnectPlanRecord {
            peer: self.head.peer.clone().map(Into::into),
            transport: Some(Transport::Tcp),
            parallel: Some(1),
            time_ns: Some((self.elapsed_s * 1e9) as u64),
            ..ConnectPlanRecord::default()
        })
    }

    /// The result.
    #[must_use]
    pub fn result(&self) -> RunResult {
        RunResult::Connect(Box::new(ConnectReport {
            server: ConnectServer::TcpPort,
            elapsed_s: self.elapsed_s,
            attempts: self.opened,
            completed: self.opened,
            per_s: Some(Estimate::single(self.per_s)),
            ..ConnectReport::default()
        }))
    }
}
