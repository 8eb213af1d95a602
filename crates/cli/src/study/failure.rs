//! Errors of studies as failures of a command: advice with the flags that help, and exit codes.

use caudal_study::{MissingRequirement, OverrideError, StudyError};

use crate::exit::{Exit, Failure};
use crate::store_advice::store_advice;
use crate::topology::{file_failure, text_failure};

/// The command that prints what an experiment's file may hold.
const SCHEMA: &str = "caudal study schema";

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        let message = error.to_string();
        match error {
            StudyError::File(error) => file_failure(&error, SCHEMA),
            StudyError::TopologyFile(error) => text_failure(
                &error,
                "a topology file in topology.file",
                "a topology file",
            ),
            StudyError::Override(error) => override_failure(&error),
            StudyError::CannotRun {
                experiment,
                missing,
            } => {
                let failure = requirement_failure(missing);
                Self {
                    message: format!("{experiment} cannot run here, because {}", failure.message),
                    ..failure
                }
            }
            StudyError::Lab(error) => error.into(),
            StudyError::Server(error) => error.into(),
            StudyError::Start { .. } => Self::new(Exit::NotPermitted, message, ""),
            StudyError::NotListening { .. } => Self::new(Exit::Failed, message, "try again"),
            StudyError::CaptureDirectory { path, cause } => Self::writing(&path, &cause),
            StudyError::Offload { .. } => Self::new(
                Exit::NotPermitted,
                message,
                "leave `offload` out of the experiment",
            ),
            StudyError::NoAddress { .. } => Self::usage(message, "join it to a link"),
            StudyError::NoOtherHost { .. } => {
                Self::usage(message, "name one of its hosts in --hosts")
            }
            StudyError::UnknownRate { .. } => Self::usage(message, "give a rate"),
            StudyError::Interrupted => Self::new(Exit::Failed, message, ""),
            StudyError::Store(error) => Self::new(Exit::Failed, message, store_advice(&error)),
            StudyError::NotFound(error) => Self::usage(message, store_advice(&error)),
            StudyError::OtherVersion { .. } => {
                Self::new(Exit::Failed, message, "resume it with that version")
            }
            StudyError::NotATrial { .. } | StudyError::TrialOfOtherVersion { .. } => Self::new(
                Exit::Failed,
                message,
                "resume it with the version that began it",
            ),
            StudyError::NotAStudy { .. } => {
                Self::usage(message, "`caudal report list` shows all studies")
            }
        }
    }
}

fn override_failure(error: &OverrideError) -> Failure {
    let write_it_as =
        "write it as congestion=cubic,bbr for a parameter, or time.measure=5s for a key";
    match error {
        OverrideError::Invalid { changes, problem } => Failure::usage(
            format!("--set {}: {problem}", changes.join(" --set ")),
            format!("`{SCHEMA}` prints what may be written"),
        ),
        _ => Failure::usage(format!("--set {error}"), write_it_as),
    }
}

/// A requirement that is not met, with the reason alone as its message.
fn requirement_failure(missing: MissingRequirement) -> Failure {
    let message = missing.to_string();
    match missing {
        MissingRequirement::CongestionControl(name) => Failure::new(
            Exit::NotPermitted,
            message,
            format!("load it with `modprobe tcp_{name}`, or leave it out with --set"),
        ),
        MissingRequirement::Lab(error) => Failure {
            exit: Exit::NotPermitted,
            ..error.into()
        },
        MissingRequirement::Server { .. } => Failure::new(
            Exit::Peer,
            message,
            "start `caudal serve` there, or give its port as NAME=ADDRESS:PORT",
        ),
    }
}
