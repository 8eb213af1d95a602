//! The measurements of trains.

use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, TrainsPlan};
use caudal_core::text::ExternalText;
use caudal_wire::trains::{SeriesReadings, TrainsAccount};
use std::time::Duration;

/// The measurements of trains.
#[derive(Debug, Clone)]
pub struct TrainsOutcome {
    /// The plan both ends held.
    pub plan: TrainsPlan,
    /// The changes the server made to it.
    pub changed: Vec<ExternalText>,
    /// This end's account.
    pub client: TrainsAccount,
    /// The server's account; `None` when it did not come.
    pub server: Option<TrainsAccount>,
    /// The duration.
    pub elapsed: Duration,
    /// The port of this end.
    pub local_port: Option<u16>,
    /// The resources this machine used.
    pub client_usage: Usage,
    /// The resources the server used; `None` when it did not report.
    pub server_usage: Option<Usage>,
    /// The reason why it ended before its plan did.
    pub cut_short: Option<CutShort>,
}

impl TrainsOutcome {
    /// The trains of a direction; `None` where none were planned.
    #[must_use]
    pub fn series(&self, direction: Direction) -> Option<SeriesReadings> {
        let series = self.plan.series(direction)?;
        let (sender, receiver) = match direction {
            Direction::Up => (Some(&self.client), self.server.as_ref()),
            Direction::Down => (self.server.as_ref(), Some(&self.client)),
        };
        Some(SeriesReadings {
            series,
            sent: sender.and_then(|end| end.sent.clone()),
            received: receiver.and_then(|end| end.received.clone()),
        })
    }
}
