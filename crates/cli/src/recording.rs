//! The recording of a command's run: after its result was shown, and never at its expense.

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::output::fold;
use crate::store_advice::store_advice;
use caudal_core::run::{Environment, Machine, Run, RunOutcome};
use caudal_engine::StartedRun;
use caudal_engine::machine::MachineMonitor;
use caudal_measure::RunPart;
use caudal_store::{Recording, RecordingError, SampleSeries, StoreError, StoredRun, short_id};
use std::io::Write;
use std::net::IpAddr;

/// The recording of a command's run, from before it begins.
#[derive(Debug)]
pub struct CommandRecording {
    recording: Recording,
    /// `true` when a flag names the file.
    is_named_by_flag: bool,
    tags: Vec<String>,
    monitor: MachineMonitor,
}

impl CommandRecording {
    /// Prepares to record the run that begins now.
    #[must_use]
    pub fn start(args: &StoreArgs) -> Self {
        Self {
            recording: if args.no_store {
                Recording::Disabled
            } else {
                Recording::new(args.store.as_deref())
            },
            is_named_by_flag: args.store.is_some(),
            tags: args.tag.clone(),
            monitor: MachineMonitor::start(),
        }
    }

    /// `true` when runs are recorded.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.recording.is_enabled()
    }

    /// Records runs that are parts of one that is recorded as a whole, without tags and without a line for each.
    ///
    /// # Errors
    /// The first part that could not be recorded: the others are not, either.
    pub fn record_parts(
        &self,
        peer: IpAddr,
        whole: &StartedRun,
        parts: impl IntoIterator<Item = RunPart>,
    ) -> Result<(), Failure> {
        let machine = self.monitor.machine(Some(peer));
        for part in parts {
            let stored = StoredRun {
                part_of: Some(whole.header.id.clone()),
                ..stored_run(&part.started, &part.run, part.outcome, machine.clone())
            };
            self.recording
                .record_part(&stored)
                .map_err(|error| not_recorded(&error))?;
        }
        Ok(())
    }

    /// Records a run that has been shown, with `peer` the other end's address.
    ///
    /// The line that shows people its id; `None` when runs are not recorded.
    ///
    /// # Errors
    /// When the run could not be recorded.
    pub fn record(
        &self,
        peer: IpAddr,
        started: &StartedRun,
        run: &Run,
        outcome: RunOutcome,
        samples: impl FnOnce() -> Vec<SampleSeries>,
    ) -> Result<Option<String>, Failure> {
        if !self.recording.is_enabled() {
            return Ok(None);
        }
        let machine = self.monitor.machine(Some(peer));
        let stored = StoredRun {
            series: samples(),
            ..stored_run(started, run, outcome, machine)
        };
        let is_recorded = self
            .recording
            .record(&stored, &self.tags)
            .map_err(|error| not_recorded(&error))?;
        if !is_recorded {
            return Ok(None);
        }
        let id = short_id(&stored.id);
        Ok(Some(if self.is_named_by_flag {
            format!("saved as {id}")
        } else {
            fold(&format!("saved as {id} (caudal report show {id})"), 4)
        }))
    }
}

/// A run as the store has it, with this machine's state and load.
fn stored_run(started: &StartedRun, run: &Run, outcome: RunOutcome, machine: Machine) -> StoredRun {
    let started_ns = i64::try_from(started.started_ns).unwrap_or(i64::MAX);
    StoredRun {
        environment: Environment {
            machine: Some(machine),
            ..run.environment.clone().unwrap_or_default()
        },
        ..StoredRun::new(run.clone(), started_ns, outcome)
    }
}

fn not_recorded(error: &RecordingError) -> Failure {
    let advice = match error {
        RecordingError::NoDirectory => "name a file with --store FILE, or use --no-store",
        RecordingError::Store(StoreError::Open { .. }) => {
            "name another place with --store FILE, or use --no-store"
        }
        RecordingError::Store(error) => store_advice(error),
    };
    Failure::new(
        Exit::Done,
        format!("the run is not recorded: {error}"),
        advice,
    )
}

/// Says in one line on standard error that a run is not recorded.
pub fn warn(failure: &Failure) {
    let line = failure.to_string();
    let line = line.replacen("caudal: ", "caudal: warning: ", 1);
    let _ = writeln!(std::io::stderr(), "{line}");
}
