//! The final report of a server, by the workload of its test.

use crate::trains::TrainsAccount;
use caudal_core::arrivals::ArrivalSeries;
use caudal_core::connect::ConnectAccount;
use caudal_core::quality::SenderQueue;
use caudal_core::sample::FlowEnd;
use caudal_core::transfer::TransferEnd;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// The final report of a server: the counts of its workload.
///
/// In a message every report has `flows`, which are none where the workload counts otherwise.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ReportKeys")]
pub enum FinalReport {
    /// Of a bulk transfer, a round-trip test, or a test of latency under load without a backlog that was read.
    Flows(FlowsReport),
    /// Of a test of latency under load: its flows, and the backlog of the server's interface towards the client.
    Quality(FlowsReport, SenderQueue),
    /// Of a test of the connection rate: the server's account.
    Connect(ConnectAccount),
    /// Of a file transfer: the server's end.
    Transfer(Box<TransferEnd>),
    /// Of trains of datagrams: the server's account.
    Trains(Box<TrainsAccount>),
}

/// What a server counted of the flows of a test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FlowsReport {
    /// The final report of each flow's end at the server.
    pub flows: Vec<FlowEnd>,
    /// The payload that arrived at the server over time; `None` where it received none.
    pub arrivals: Option<ArrivalSeries>,
}

impl FinalReport {
    /// The counts of the flows; none of a workload that counts otherwise.
    #[must_use]
    pub fn into_flows(self) -> FlowsReport {
        match self {
            Self::Flows(report) | Self::Quality(report, _) => report,
            Self::Connect(_) | Self::Transfer(_) | Self::Trains(_) => FlowsReport::default(),
        }
    }

    /// The backlog of the server's interface towards the client.
    #[must_use]
    pub const fn sender_queue(&self) -> Option<SenderQueue> {
        match self {
            Self::Quality(_, queue) => Some(*queue),
            _ => None,
        }
    }

    /// The server's account of a test of the connection rate.
    #[must_use]
    pub const fn connect(&self) -> Option<ConnectAccount> {
        match self {
            Self::Connect(account) => Some(*account),
            _ => None,
        }
    }

    /// The server's end of a file transfer.
    #[must_use]
    pub fn into_transfer(self) -> Option<TransferEnd> {
        match self {
            Self::Transfer(end) => Some(*end),
            _ => None,
        }
    }

    /// The server's account of trains of datagrams.
    #[must_use]
    pub fn into_trains(self) -> Option<TrainsAccount> {
        match self {
            Self::Trains(account) => Some(*account),
            _ => None,
        }
    }
}

/// The keys of a report in a message, as they are read.
#[derive(Deserialize)]
struct ReportKeys {
    flows: Vec<FlowEnd>,
    #[serde(default)]
    arrivals: Option<ArrivalSeries>,
    #[serde(default)]
    sender_queue: Option<SenderQueue>,
    #[serde(default)]
    connect: Option<ConnectAccount>,
    #[serde(default)]
    transfer: Option<Box<TransferEnd>>,
    #[serde(default)]
    trains: Option<Box<TrainsAccount>>,
}

impl From<ReportKeys> for FinalReport {
    fn from(keys: ReportKeys) -> Self {
        let flows = FlowsReport {
            flows: keys.flows,
            arrivals: keys.arrivals,
        };
        if let Some(account) = keys.connect {
            return Self::Connect(account);
        }
        match (keys.transfer, keys.trains, keys.sender_queue) {
            (Some(end), _, _) => Self::Transfer(end),
            (None, Some(account), _) => Self::Trains(account),
            (None, None, Some(queue)) => Self::Quality(flows, queue),
            (None, None, None) => Self::Flows(flows),
        }
    }
}

impl Serialize for FinalReport {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut keys = to.serialize_map(None)?;
        match self {
            Self::Flows(report) | Self::Quality(report, _) => {
                keys.serialize_entry("flows", &report.flows)?;
                if let Some(arrivals) = &report.arrivals {
                    keys.serialize_entry("arrivals", arrivals)?;
                }
            }
            Self::Connect(_) | Self::Transfer(_) | Self::Trains(_) => {
                keys.serialize_entry("flows", &[] as &[FlowEnd])?;
            }
        }
        match self {
            Self::Flows(_) => {}
            Self::Quality(_, queue) => keys.serialize_entry("sender_queue", queue)?,
            Self::Connect(account) => keys.serialize_entry("connect", account)?,
            Self::Transfer(end) => keys.serialize_entry("transfer", end)?,
            Self::Trains(account) => keys.serialize_entry("trains", account)?,
        }
        keys.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sample::{Counters, SenderCounters};

    #[test]
    fn a_report_survives_the_trip_through_a_message() {
        let flows = FlowsReport {
            flows: vec![FlowEnd::from_counters(
                3,
                Counters::Sender(SenderCounters::default()),
            )],
            arrivals: None,
        };
        for (report, keys) in [
            (FinalReport::Flows(flows.clone()), vec!["flows"]),
            (
                FinalReport::Quality(flows, SenderQueue::default()),
                vec!["flows", "sender_queue"],
            ),
            (
                FinalReport::Transfer(Box::default()),
                vec!["flows", "transfer"],
            ),
            (FinalReport::Trains(Box::default()), vec!["flows", "trains"]),
            (
                FinalReport::Connect(ConnectAccount { answered: 7 }),
                vec!["connect", "flows"],
            ),
        ] {
            let value = serde_json::to_value(&report).unwrap();
            let written: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            assert_eq!(written, keys);
            let again: FinalReport = serde_json::from_value(value).unwrap();
            assert_eq!(again, report);
        }
    }
}
