//! Runs made from events, and turned back into events.

mod flow;
mod recorder;
mod replay;

pub use flow::flow_report;
pub use recorder::RunRecorder;
pub use replay::{TimedEvent, events_of};
