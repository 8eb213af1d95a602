//! A trial: a case carried out once.

mod active_testbed;
mod awake;
mod capture;
mod child_process;
mod discard;
mod flow_process;
mod flow_task;
mod interface_samples;
mod lead_time;
mod measurements;
mod monitor;
mod program;
mod round_trip_samples;
mod run_trial;
mod setup;

pub(crate) use capture::HERE;
pub(crate) use lead_time::lead_time;
pub use measurements::TrialMeasurements;
pub(crate) use program::own_command;
pub use program::{
    BulkEnd, BulkTask, CaptureTask, EchoTask, FileTask, FlowTask, FlowTraffic, PathTask,
    ProgramCommands,
};
pub use round_trip_samples::RoundTripSamples;
pub use run_trial::run_trial;
pub use setup::TrialSetup;
