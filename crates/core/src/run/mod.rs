//! A test that happened: one typed document, written and read as JSON.

mod capture;
mod environment;
mod flow;
mod import;
mod machine;
mod outcome;
mod repeat;
mod result;
mod run;
mod search;
mod summary;

pub use capture::{RunCapture, RunOffload};
pub use environment::{Environment, Tool};
pub use flow::{FlowReport, ReceiverReport, SenderReport, TcpReport};
pub use import::{Import, ImportSide};
pub use machine::{CpuShares, Machine, MachineInterface, MachineLoad};
pub use outcome::{RunOutcome, UnknownOutcome};
pub use repeat::{DirectionRepeats, Repeat, RepeatDirection};
pub use result::RunResult;
pub use run::{Run, RunHeader, SCHEMA};
pub use search::SearchResult;
pub use summary::{ClockReport, CpuReport, RoundTripSummary, ThroughputSummary};
