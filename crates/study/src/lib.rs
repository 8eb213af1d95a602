//! Studies: experiments carried out trial by trial, in the lab, between hosts or on loopback.
//!
//! An [`ExperimentSource`] with its [`Testbed`]s is a [`PreparedExperiment`]; a [`Study`] runs its trials ([`run_trial`]), records each in
//! the store, and can be resumed from there. Flows are processes of this program, started by [`ProgramCommands`]: nothing here
//! knows a flag, and nothing is printed, as progress is reported by [`StudyEvent`]s.
#![forbid(unsafe_code)]

mod archive;
mod duration;
mod error;
mod event;
mod flow_times;
pub mod metrics;
mod overrides;
pub mod predictions;
mod prepared;
mod requirements;
mod resume;
mod schedule;
mod shipped;
mod source;
mod stored_campaign;
mod study;
mod testbed;
mod text_file;
mod trial;
mod trial_record;

pub use archive::StudyArchive;
pub use error::{MissingRequirement, StudyError};
pub use event::{StudyEnd, StudyEvent};
pub use overrides::OverrideError;
pub use prepared::PreparedExperiment;
pub use shipped::{SHIPPED_EXPERIMENTS, ShippedExperiment, shipped_experiment};
pub use source::{ExperimentChanges, ExperimentSource};
pub use stored_campaign::StoredCampaign;
pub use study::{Study, StudyRunner};
pub use testbed::{
    HostAddress, LabNetwork, THIS_MACHINE, Testbed, is_echo, offered_rate, parse_hosts,
};
pub use text_file::{TextFileError, read_text_file};
pub use trial::{
    BulkEnd, BulkTask, CaptureTask, EchoTask, FileTask, FlowTask, FlowTraffic, PathTask,
    ProgramCommands, TrialMeasurements, TrialSetup, run_trial,
};
