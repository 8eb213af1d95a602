//! The documents of runs.

use caudal_core::run::{Environment, Run};
use serde::{Deserialize, Serialize};

use crate::pack::Packed;

/// The document of a run, as `--json` prints it.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredDocument {
    /// A run by itself, `caudal.run/1`.
    Run(Box<Run>),
    /// The JSON text of a trial of a study, `caudal.trial/1`.
    Trial(String),
}

/// A document ready to be stored: without the machines that the run's environment has as well.
pub(super) struct PackedDocument {
    /// The keys of the machines left out, as JSON; `None` when the document is whole.
    pub(super) machines: Option<String>,
    pub(super) packed: Packed,
}

impl PackedDocument {
    pub(super) fn new(document: &StoredDocument, environment: &Environment) -> Self {
        let run = match document {
            StoredDocument::Run(run) => run,
            StoredDocument::Trial(text) => {
                return Self {
                    machines: None,
                    packed: Packed::from_text(text),
                };
            }
        };
        match run.environment.as_ref().map(MachineKey::all_of) {
            Some(keys) if run.environment == MachineKey::select(&keys, environment) => {
                let without = Run {
                    environment: None,
                    ..Run::clone(run)
                };
                Self {
                    machines: serde_json::to_string(&keys).ok(),
                    packed: Packed::from_json(&without),
                }
            }
            _ => Self {
                machines: None,
                packed: Packed::from_json(run),
            },
        }
    }
}

/// The run of a text that was stored without the machines of these `keys` (JSON); `None` when either cannot be read, or
/// the environment lacks a machine.
pub(super) fn with_machines(mut run: Run, keys: &str, environment: &Environment) -> Option<Run> {
    let keys: Vec<MachineKey> = serde_json::from_str(keys).ok()?;
    run.environment = Some(MachineKey::select(&keys, environment)?);
    Some(run)
}

/// The key of a machine in an environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MachineKey {
    Client,
    Machine,
    Server,
}

impl MachineKey {
    /// The keys of the machines that an environment has.
    fn all_of(environment: &Environment) -> Vec<Self> {
        let present = [
            (Self::Client, environment.client.is_some()),
            (Self::Machine, environment.machine.is_some()),
            (Self::Server, environment.server.is_some()),
        ];
        let present = present.into_iter().filter(|(_, is_present)| *is_present);
        present.map(|(key, _)| key).collect()
    }

    /// The machines of these keys; `None` when the environment lacks one.
    fn select(keys: &[Self], environment: &Environment) -> Option<Environment> {
        let mut selected = Environment::default();
        for key in keys {
            match key {
                Self::Client => selected.client = Some(environment.client.clone()?),
                Self::Machine => selected.machine = Some(environment.machine.clone()?),
                Self::Server => selected.server = Some(environment.server.clone()?),
            }
        }
        Some(selected)
    }
}
