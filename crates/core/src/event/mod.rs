//! The events of a test, in the order they happen, and the views that show them.
//!
//! Engines of every protocol emit them, `--json-stream` prints them, and a recorded run can be turned back into them.

mod connection;
mod cut_short;
mod end_report;
mod event;

pub use connection::{ConnectingSocket, DataConnection, ListeningSocket};
pub use cut_short::CutShort;
pub use end_report::{CpuPercent, EndReport, FlowTotals, PeerOutput, ReportingEnd};
pub use event::{Agreement, EndedFlow, EndedTest, Event, ProbeReply, SizeProgress, View};
