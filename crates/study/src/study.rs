//! A study from its first trial to its findings.

use std::collections::BTreeMap;
use std::path::Path;

use caudal_core::date::rfc3339;
use caudal_core::run::Environment;
use caudal_engine::machine::MachineMonitor;
use caudal_engine::new_run_id;
use caudal_experiment::{CasePredictions, Findings, StudyHeader, TRIAL_SCHEMA, Trial};
use caudal_store::StoredStudy;
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use serde::Serialize;
use serde_json::json;

use crate::archive::StudyArchive;
use crate::error::StudyError;
use crate::event::{StudyEnd, StudyEvent};
use crate::metrics::trial_metrics;
use crate::predictions::predict_cases;
use crate::prepared::PreparedExperiment;
use crate::schedule::TrialSchedule;
use crate::stored_campaign::StoredCampaign;
use crate::trial::{ProgramCommands, TrialMeasurements, TrialSetup, run_trial};
use crate::trial_record::stored_trial;

/// The number of characters of an id that people are shown.
const SHORT_ID: usize = 8;

/// A study.
pub struct Study {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// The time of its start, RFC 3339, UTC.
    pub started: String,
    /// The command that repeats it.
    pub command: String,
    /// Its experiment.
    pub prepared: PreparedExperiment,
    /// The predictions for each case, by key.
    pub predictions: BTreeMap<String, CasePredictions>,
    /// Warnings about the study.
    pub warnings: Vec<String>,
    /// The machine, as documents have it.
    pub environment: Environment,
    /// Its trials so far, in the order of execution.
    pub trials: Vec<Trial>,
    /// The archive of its trials.
    pub archive: StudyArchive,
    /// `true` when every trial was carried out.
    pub is_complete: bool,
}

/// The processes, files and listeners of the trials of a study.
pub struct StudyRunner<'a> {
    /// The commands of the processes that trials start.
    pub program: &'a dyn ProgramCommands,
    /// The directory for captures; `None` for none.
    pub captures: Option<&'a Path>,
    /// The signals that end the study.
    pub interrupt: &'a Interrupt,
    /// The listener to its events.
    pub on_event: &'a mut dyn FnMut(&StudyEvent<'_>),
}

/// The details of the event that ends a study in the store.
#[derive(Default, Serialize)]
struct EndDetail {
    #[serde(skip_serializing_if = "Option::is_none")]
    trials: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

impl Study {
    /// Begins a study that `command` repeats: its predictions are made, and it is recorded in the store at this path.
    #[must_use]
    pub fn begin(
        prepared: PreparedExperiment,
        command: String,
        store: Option<&Path>,
        on_event: &mut dyn FnMut(&StudyEvent<'_>),
    ) -> Self {
        let started_ns = realtime_ns();
        let id = new_run_id();
        let machine = MachineMonitor::start();
        let campaign = &prepared.campaign;
        let (predictions, warnings) =
            predict_cases(&campaign.cases, &prepared.testbeds, campaign.quick);
        let environment = Environment {
            machine: Some(machine.machine(None)),
            ..Environment::default()
        };
        let now = i64::try_from(started_ns).unwrap_or(i64::MAX);
        let stored = StoredStudy {
            id: id.clone(),
            name: prepared.source.name.clone(),
            title: campaign.experiment.title.clone(),
            started_ns: now,
            seed: campaign.seed,
            command: command.clone(),
            experiment: json!(campaign.experiment),
            campaign: json!(StoredCampaign {
                source: prepared.source.clone(),
                hosts: prepared.hosts.clone(),
                quick: campaign.quick,
                cases: campaign.cases.clone(),
            }),
            environment: environment.clone(),
            events: vec![
                (now, "begun".to_owned(), json!({})),
                (now, "expected".to_owned(), json!(predictions)),
            ],
        };
        let (archive, error) = StudyArchive::begin(store, &stored);
        if let Some(error) = error {
            on_event(&StudyEvent::NotRecorded(&error));
        }
        Self {
            id,
            started: rfc3339(started_ns),
            command,
            prepared,
            predictions,
            warnings,
            environment,
            trials: Vec::new(),
            archive,
            is_complete: false,
        }
    }

    /// The beginning of its id, as people are shown it.
    #[must_use]
    pub fn short_id(&self) -> &str {
        self.id.get(..SHORT_ID).unwrap_or(&self.id)
    }

    /// Carries out the trials that are left.
    pub fn run(&mut self, runner: &mut StudyRunner<'_>) -> StudyEnd {
        let end = match self.run_trials(runner) {
            Ok(()) => StudyEnd::Complete,
            Err(StudyError::Interrupted) => StudyEnd::Interrupted,
            Err(error) => StudyEnd::Failed(error),
        };
        self.is_complete = matches!(end, StudyEnd::Complete);
        let mut detail = EndDetail::default();
        let event = match &end {
            StudyEnd::Complete => "done",
            StudyEnd::Interrupted => {
                detail.trials = Some(self.trials.len());
                "interrupted"
            }
            StudyEnd::Failed(error) => {
                detail.why = Some(error.to_string());
                "failed"
            }
        };
        if let Err(error) = self.archive.record_event(event, &detail) {
            (runner.on_event)(&StudyEvent::NotRecorded(&error));
        }
        end
    }

    /// The findings of the trials so far, which are recorded as well.
    pub fn findings(&mut self, on_event: &mut dyn FnMut(&StudyEvent<'_>)) -> Findings {
        let header = StudyHeader {
            id: self.id.clone(),
            name: self.prepared.source.name.clone(),
            started: self.started.clone(),
            command: self.command.clone(),
            environment: self.environment.clone(),
            complete: self.is_complete,
            warnings: self.all_warnings(),
        };
        let findings = Findings::assemble(
            &self.prepared.campaign,
            &header,
            &self.trials,
            &self.predictions,
        );
        if let Err(error) = self.archive.record_event("findings", &findings) {
            on_event(&StudyEvent::NotRecorded(&error));
        }
        findings
    }

    /// The warnings about the study and its trials, each once.
    fn all_warnings(&self) -> Vec<String> {
        let mut all = self.warnings.clone();
        for warning in self.trials.iter().flat_map(|trial| &trial.warnings) {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        all
    }

    const fn schedule(&self) -> TrialSchedule<'_> {
        TrialSchedule {
            prepared: &self.prepared,
            trials: self.trials.as_slice(),
        }
    }

    fn run_trials(&mut self, runner: &mut StudyRunner<'_>) -> Result<(), StudyError> {
        let rule = self.prepared.campaign.rule;
        for round in 1..=rule.max.max(rule.min) {
            for index in self.prepared.campaign.block(round) {
                let case = &self.prepared.campaign.cases[index];
                if !self.schedule().is_due(case, round) {
                    continue;
                }
                // A discarded trial is repeated until the round is given up.
                let key = case.key.clone();
                while self.schedule().rounds_complete(&key) < round {
                    self.run_one(index, round, runner)?;
                }
            }
        }
        for case in &self.prepared.campaign.cases {
            let missing = rule
                .min
                .saturating_sub(self.schedule().count_valid(&case.key));
            if missing > 0 {
                self.warnings.push(format!(
                    "case {} lacks {missing} of its trials: they were discarded repeatedly",
                    case.key
                ));
            }
        }
        Ok(())
    }

    /// Runs a trial of the case at `index`.
    fn run_one(
        &mut self,
        index: usize,
        repeat: u64,
        runner: &mut StudyRunner<'_>,
    ) -> Result<(), StudyError> {
        let id = new_run_id();
        let position = self.trials.len() as u64 + 1;
        let case = &self.prepared.campaign.cases[index];
        let testbed = &self.prepared.testbeds[index];
        let (remaining, time) = self.schedule().remaining();
        (runner.on_event)(&StudyEvent::TrialStarted {
            position,
            total: position - 1 + remaining,
            case,
            remaining: time,
        });
        let setup = TrialSetup {
            case,
            testbed,
            seed: self.trial_seed(position),
            // The lab of a killed study may still be up when that study is resumed.
            lab_name: format!(
                "study-{}-{}-{position}",
                self.short_id(),
                std::process::id()
            ),
            captures: runner
                .captures
                .filter(|_| case.capture)
                .map(|at| at.join(format!("{position}"))),
            program: runner.program,
        };
        let machine = MachineMonitor::start();
        let mut measurements = run_trial(&setup, runner.interrupt)?;
        (runner.on_event)(&StudyEvent::TrialEnded {
            expected: self.prepared.trial_time(index),
        });
        let trial = self.trial(id, index, repeat, &mut measurements);
        let stored = stored_trial(
            &trial,
            case,
            &self.prepared.source.name,
            &self.command,
            &measurements,
            machine.machine(None),
        );
        let recorded = self.archive.record(stored);
        self.trials.push(trial);
        if let Err(error) = recorded {
            (runner.on_event)(&StudyEvent::NotRecorded(&error));
        }
        self.report_trial(index, runner);
        Ok(())
    }

    /// The random seed of the lab of a trial: each trial has another.
    const fn trial_seed(&self, position: u64) -> u64 {
        let seed = self.prepared.campaign.seed;
        seed.wrapping_mul(1_000_003).wrapping_add(position) >> 1
    }

    /// The trial with these measurements, some of which move into it.
    fn trial(
        &self,
        id: String,
        index: usize,
        repeat: u64,
        measurements: &mut TrialMeasurements,
    ) -> Trial {
        let case = &self.prepared.campaign.cases[index];
        let metrics = trial_metrics(case, &self.prepared.testbeds[index], measurements);
        let predictions = self.predictions.get(&case.key);
        let predicted = predictions.map(|predictions| predictions.predicted.clone());
        Trial {
            schema: TRIAL_SCHEMA.to_owned(),
            id,
            study: self.id.clone(),
            case: case.key.clone(),
            parameters: case.parameters.clone(),
            alone: case.alone.clone(),
            repeat,
            position: self.trials.len() as u64 + 1,
            started: rfc3339(measurements.zero_ns),
            zero_s: (measurements.zero_ns / 1000) as f64 / 1e6,
            warm_up_s: case.warm_up.as_secs_f64(),
            measured_s: measurements.measured_s,
            lab: measurements.after.take().map(|report| json!(report)),
            interfaces: std::mem::take(&mut measurements.interfaces),
            metrics,
            predicted: predicted.unwrap_or_default(),
            discarded: measurements.discarded.clone(),
            warnings: measurements.warnings.clone(),
            captures: measurements.captures.clone(),
            flows: std::mem::take(&mut measurements.flows),
        }
    }

    /// Reports the last trial, which is of the case at `index`.
    fn report_trial(&self, index: usize, runner: &mut StudyRunner<'_>) {
        let Some(trial) = self.trials.last() else {
            return;
        };
        let case = &self.prepared.campaign.cases[index];
        let schedule = self.schedule();
        let (remaining, _) = schedule.remaining();
        (runner.on_event)(&StudyEvent::TrialCompleted {
            trial,
            case,
            total: trial.position + remaining,
            values: schedule.values(&case.key),
            is_repeated: !trial.is_valid() && schedule.rounds_complete(&case.key) < trial.repeat,
        });
    }
}
