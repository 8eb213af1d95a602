//! One event of a test, and what shows events.

use super::connection::{ConnectingSocket, DataConnection, ListeningSocket};
use super::cut_short::CutShort;
use super::end_report::EndReport;
use crate::connect::ConnectInterval;
use crate::echo::RoundTripInterval;
use crate::interval::FlowInterval;
use crate::loss::ImplausibleLoss;
use crate::path::PathRound;
use crate::plan::{Plan, PlanKind, PlanRecord};
use crate::quality::QualityInterval;
use crate::run::Run;
use crate::sample::{Counters, FlowEnd, Sample};
use crate::search::SearchTrial;
use crate::text::ExternalText;
use crate::transfer::{TransferProgress, TransferRecord};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// One event of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "events are few and passed by reference: boxes would cost their readers more than copies cost"
)]
pub enum Event {
    /// A socket listens for data connections.
    Listening(ListeningSocket),
    /// This end makes data connections.
    Connecting(ConnectingSocket),
    /// One direction of a data connection is open.
    Opened(DataConnection),
    /// Both ends hold this plan.
    Agreed(Agreement),
    /// Payload begins to flow.
    Started {
        /// The number of the run, from 1, where a command makes several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat: Option<u32>,
    },
    /// The counters of one end of one flow were read.
    Sampled(Sample),
    /// Both ends of all flows were read at the same tick: the interval since the tick before.
    Interval {
        /// The number of the run, from 1.
        repeat: u32,
        /// The interval of each flow.
        flows: Vec<FlowInterval>,
    },
    /// One message size of a round-trip test is complete for one client.
    Size(SizeProgress),
    /// The reply to a probe beside a load has arrived.
    Replied(ProbeReply),
    /// An interval of a test of latency under load is complete.
    Quality {
        /// The interval.
        interval: QualityInterval,
    },
    /// An interval of a test of the connection rate is complete.
    Connections {
        /// The interval.
        interval: ConnectInterval,
    },
    /// The round trips of an interval of a round-trip test of one size.
    RoundTrips(RoundTripInterval),
    /// The progress of a file transfer.
    Transfer(TransferProgress),
    /// A file transfer is over.
    Transferred {
        /// The transfer.
        transfer: Box<TransferRecord>,
    },
    /// A round of probes of a path is complete.
    PathRound {
        /// What is known after it.
        round: PathRound,
    },
    /// A trial of a search for the highest rate is complete.
    Trial {
        /// The trial.
        trial: SearchTrial,
    },
    /// A flow of this end has ended.
    FlowEnded(EndedFlow),
    /// All payload was sent; the final reports are being exchanged.
    Ending,
    /// An end of the test has reported what it counted.
    Reported(EndReport),
    /// The other end did not report on a flow.
    NotReported {
        /// The flow's number.
        flow: u32,
        /// The number of times it was asked.
        attempts: u32,
    },
    /// The other end reported on a flow what cannot be true: its report is discarded.
    ReportDiscarded {
        /// The flow's number.
        flow: u32,
        /// What it reported.
        report: ImplausibleLoss,
    },
    /// The test is over at this end.
    Ended(EndedTest),
    /// A peer was refused, or a part of the test could not be carried out.
    Refused {
        /// The peer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<SocketAddr>,
        /// The reason.
        reason: ExternalText,
    },
    /// The test is over, and its run is complete.
    Finished {
        /// The whole run.
        run: Box<Run>,
    },
}

impl Event {
    /// `true` for an event that docs/reference/json.md has: what others are told of a test.
    #[must_use]
    pub const fn is_documented(&self) -> bool {
        matches!(
            self,
            Self::Agreed(_)
                | Self::Started { .. }
                | Self::Interval { .. }
                | Self::Size(_)
                | Self::RoundTrips(_)
                | Self::Trial { .. }
                | Self::Connections { .. }
                | Self::Quality { .. }
                | Self::Transferred { .. }
                | Self::PathRound { .. }
                | Self::Finished { .. }
        )
    }

    /// The workload that an event belongs to; `None` for one of any workload.
    #[must_use]
    pub fn kind(&self) -> Option<PlanKind> {
        match self {
            Self::Agreed(agreement) => agreement.plan.kind(),
            Self::Size(_) | Self::RoundTrips(_) => Some(PlanKind::Rtt),
            Self::Connections { .. } => Some(PlanKind::Connect),
            Self::Quality { .. } => Some(PlanKind::Quality),
            Self::Transfer(_) | Self::Transferred { .. } => Some(PlanKind::File),
            Self::PathRound { .. } => Some(PlanKind::Path),
            _ => None,
        }
    }
}

/// A plan that both ends hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The number of the run, from 1, where a command makes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The plan within the server's limits.
    pub plan: PlanRecord,
    /// The changes the server made, as text.
    pub changed: Vec<ExternalText>,
}

impl Agreement {
    /// The agreement with this peer on a plan.
    #[must_use]
    pub fn new(plan: &Plan, peer: SocketAddr, changed: &[ExternalText]) -> Self {
        Self {
            repeat: None,
            plan: PlanRecord::from(plan).with_peer(peer.to_string()),
            changed: changed.to_vec(),
        }
    }
}

/// A flow of this end that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedFlow {
    /// Its final report.
    #[serde(flatten)]
    pub end: FlowEnd,
    /// The end of its payload, ns after its start.
    pub at_ns: u64,
}

/// A test that is over at this end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EndedTest {
    /// Payload bytes this end received.
    pub received_bytes: u64,
    /// Payload bytes this end sent.
    pub sent_bytes: u64,
    /// Datagrams this end received (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_datagrams: Option<u64>,
    /// Datagrams lost on the way to this end (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_datagrams: Option<u64>,
    /// The time it took, s.
    pub elapsed_s: f64,
    /// The reason why it ended before its plan did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<CutShort>,
}

/// The reply to a probe beside a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbeReply {
    /// The number of the probe's flow.
    pub flow: u32,
    /// The message's number, from 0.
    pub message: u64,
    /// The time at which the message was due, ns after the start.
    pub due_ns: u64,
    /// The time from then until its reply was read, ns.
    pub rtt_ns: u64,
}

impl EndedTest {
    /// The end of a test after `elapsed_s`, with the last counters of this end of its flows.
    #[must_use]
    pub fn from_counters<'a>(
        last: impl IntoIterator<Item = &'a Counters>,
        elapsed_s: f64,
        cut_short: Option<CutShort>,
    ) -> Self {
        let mut ended = Self {
            elapsed_s,
            cut_short,
            ..Self::default()
        };
        for counters in last {
            match counters {
                Counters::Sender(sent) => ended.sent_bytes += sent.bytes,
                Counters::Receiver(received) => {
                    ended.received_bytes += received.bytes;
                    if received.datagrams + received.lost > 0 {
                        *ended.received_datagrams.get_or_insert(0) += received.datagrams;
                        *ended.lost_datagrams.get_or_insert(0) += received.lost;
                    }
                }
            }
        }
        ended
    }
}

/// The progress of a round-trip test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeProgress {
    /// The client's number, from 0.
    pub client: u32,
    /// Bytes in each message.
    pub size_bytes: u32,
    /// Messages that were answered in time.
    pub replies: usize,
    /// Their mean round-trip time, µs.
    pub mean_us: f64,
}

/// A consumer of a test's events: a text table, JSON lines, CSV, a progress bar, the store.
pub trait View {
    /// Takes the next event.
    fn event(&mut self, event: &Event);
}
