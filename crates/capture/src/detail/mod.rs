//! The frames of one flow: its sequence diagram and its graphs.

mod recorder;

pub use recorder::FlowDetail;
pub(crate) use recorder::{DetailFrame, DetailRecorder};
