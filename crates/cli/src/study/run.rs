//! A study from its first trial to its report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use caudal_experiment::{Case, RepetitionStatus};
use caudal_sys::signal::Interrupt;
use serde_json::{Value, json};

use super::archive::Archive;
use super::args::StudyOutputArgs;
use super::carry::{self, Carried, Stage, Trouble};
use super::forecast;
use super::metrics;
use super::prepare::Prepared;
use super::progress::{self, Progress, about};
use super::report;
use crate::exit::{Exit, Failure};
use crate::output::document::{StartedRun, rfc3339};
use crate::peer::TOOL;
use caudal_core::run::{Environment, Machine};
use caudal_engine::MachineMonitor;
use caudal_experiment::CasePredictions;
use caudal_experiment::{TRIAL_SCHEMA, Trial};
use caudal_store::{
    RunKind, RunOutcome, SampleSeries, StoredDocument, StoredRun, StoredStudy, StudyTrial,
};

/// A study under way.
pub struct Study {
    /// Names it.
    pub id: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// What repeats it.
    pub command: String,
    /// What is to be done.
    pub prepared: Prepared,
    /// What is expected of each case, by key.
    pub expected: BTreeMap<String, CasePredictions>,
    /// What to doubt.
    pub warnings: Vec<String>,
    /// The machine.
    pub environment: Environment,
    /// Trials so far, in the order they were carried out.
    pub trials: Vec<Trial>,
    /// Where they go.
    pub archive: Archive,
    /// Whether every trial was carried out that was to be.
    pub complete: bool,
}

/// How the trials of a study ended.
enum End {
    Complete,
    Interrupted,
    Failed(Failure),
}

impl Study {
    /// Begins a study: what is expected of it is worked out, and the store told.
    #[must_use]
    pub fn begin(prepared: Prepared, args: &StudyOutputArgs) -> Self {
        let started = StartedRun::now();
        let monitor = MachineMonitor::start();
        let (expected, unsimulated) = forecast::of(
            &prepared.campaign.cases,
            &prepared.places,
            prepared.campaign.quick,
        );
        let mut warnings = prepared.doubts();
        warnings.extend(unsimulated);
        let environment = Environment {
            machine: Some(monitor.machine(None)),
            ..Environment::default()
        };
        let expectations: BTreeMap<&String, Value> = expected
            .iter()
            .map(|(key, one)| {
                (
                    key,
                    json!({"predicted": one.predicted, "simulated": one.simulated}),
                )
            })
            .collect();
        let now = i64::try_from(started.started_ns).unwrap_or(i64::MAX);
        let kept = StoredStudy {
            id: started.header.id.clone(),
            name: prepared.source.name.clone(),
            title: prepared.campaign.experiment.title.clone(),
            started_ns: now,
            seed: prepared.campaign.seed,
            command: started.header.command.clone().unwrap_or_default(),
            experiment: json!(prepared.campaign.experiment),
            campaign: json!({
                "source": prepared.source,
                "hosts": prepared.hosts,
                "quick": prepared.campaign.quick,
                "cases": prepared.campaign.cases,
            }),
            environment: environment.clone(),
            events: vec![
                (now, "begun".to_owned(), json!({})),
                (now, "expected".to_owned(), json!(expectations)),
            ],
        };
        let archive = Archive::begin(&args.store, &kept);
        Self {
            id: started.header.id,
            started: started.header.started,
            command: started.header.command.unwrap_or_default(),
            prepared,
            expected,
            warnings,
            environment,
            trials: Vec::new(),
            archive,
            complete: false,
        }
    }

    /// Carries out what is left, reports, and says how the command ends.
    ///
    /// # Errors
    /// When a trial cannot be carried out, or the report not be written; what was measured is shown before.
    pub fn go(
        &mut self,
        args: &StudyOutputArgs,
        out: Option<&Path>,
        interrupt: &'static Interrupt,
    ) -> Result<Exit, Failure> {
        let shows = !args.quiet && !args.json;
        let mut progress = Progress::new(&self.prepared.campaign.cases, shows);
        for line in self.heading() {
            progress.line(&line);
        }
        let out = out.map(Path::to_owned).or_else(|| self.usual_place());
        let captures = match &out {
            Some(out) if self.prepared.captures() => Some(out.join("captures")),
            _ => None,
        };
        let end = self.trials(&mut progress, captures.as_deref(), interrupt);
        progress.close();
        self.complete = matches!(end, End::Complete);
        let (event, detail) = match &end {
            End::Complete => ("done", json!({})),
            End::Interrupted => ("interrupted", json!({"trials": self.trials.len()})),
            End::Failed(failure) => ("failed", json!({"why": failure.to_string()})),
        };
        self.archive.note(event, &detail);
        let told = report::report(self, args, out.as_deref(), args.out.is_some());
        match end {
            End::Complete => told,
            End::Interrupted => {
                let go_on = if self.archive.is_kept() {
                    format!("`caudal study resume {}` goes on with it", short(&self.id))
                } else {
                    "it is kept nowhere: run it again".to_owned()
                };
                told?;
                Err(Failure::new(
                    Exit::Failed,
                    format!("interrupted after {} trials", self.trials.len()),
                    go_on,
                ))
            }
            End::Failed(failure) => {
                told?;
                Err(failure)
            }
        }
    }

    /// `reports/NAME-ID` in the user's data directory.
    fn usual_place(&self) -> Option<PathBuf> {
        let data = std::env::var_os("XDG_DATA_HOME")
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".local/share")))?;
        let name = format!("{}-{}", self.prepared.source.name, short(&self.id));
        Some(data.join("caudal/reports").join(name))
    }

    fn heading(&self) -> Vec<String> {
        let prepared = &self.prepared;
        let (fewest, most) = prepared.trials();
        let (least, longest) = prepared.time();
        let baselines = prepared
            .campaign
            .cases
            .iter()
            .filter(|case| case.alone.is_some())
            .count();
        let cases = prepared.campaign.cases.len() - baselines;
        let alone = match baselines {
            0 => String::new(),
            1 => " and 1 flow alone".to_owned(),
            more => format!(" and {more} flows alone"),
        };
        let trials = if most > fewest {
            format!(
                "{fewest} to {most} trials, {} to {}",
                about(least),
                about(longest)
            )
        } else {
            format!("{fewest} trials, about {}", about(least))
        };
        let plural = if cases == 1 { "" } else { "s" };
        let kept = if self.archive.is_kept() {
            format!("study {}", short(&self.id))
        } else {
            "study, not kept".to_owned()
        };
        let mut lines = vec![
            crate::output::text::fold(&prepared.campaign.experiment.title, 4),
            format!("{cases} case{plural}{alone}: {trials}; {kept}"),
        ];
        if !self.trials.is_empty() {
            lines.push(format!(
                "{} trials were carried out before",
                self.trials.len()
            ));
        }
        for warning in &self.warnings {
            lines.push(crate::output::text::fold(&format!("note: {warning}"), 4));
        }
        lines
    }

    /// The trials of a case that count.
    fn counted<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Trial> {
        self.trials
            .iter()
            .filter(move |trial| trial.case == key && trial.discarded.is_none())
    }

    /// Rounds of a case that are over.
    fn rounds_over(&self, key: &str) -> u64 {
        let own = self.trials.iter().filter(|trial| trial.case == key);
        over(
            own.map(|trial| (trial.repeat, trial.discarded.is_some())),
            self.prepared.campaign.retries,
        )
    }

    fn values(&self, key: &str) -> BTreeMap<String, Vec<f64>> {
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for trial in self.counted(key) {
            for (name, value) in &trial.metrics {
                all.entry(name.clone()).or_default().push(*value);
            }
        }
        all
    }

    /// Whether a case needs another trial in a round.
    fn is_due(&self, case: &Case, round: u64) -> bool {
        if self.rounds_over(&case.key) >= round {
            return false;
        }
        let counted = self.counted(&case.key).count() as u64;
        let repeated =
            self.prepared
                .campaign
                .repetition_status(case, counted, &self.values(&case.key));
        repeated == RepetitionStatus::Incomplete
    }

    fn trials(
        &mut self,
        progress: &mut Progress,
        captures: Option<&Path>,
        interrupt: &'static Interrupt,
    ) -> End {
        let rule = self.prepared.campaign.rule;
        let most = rule.max.max(rule.min);
        for round in 1..=most {
            for index in self.prepared.campaign.block(round) {
                let case = self.prepared.campaign.cases[index].clone();
                if !self.is_due(&case, round) {
                    continue;
                }
                // Done again as often as it is spoiled, until the round is given up.
                while self.rounds_over(&case.key) < round {
                    match self.one(index, round, progress, captures, interrupt) {
                        Ok(()) => {}
                        Err(Trouble::Interrupted) => return End::Interrupted,
                        Err(Trouble::Failed(failure)) => return End::Failed(failure),
                    }
                }
            }
        }
        for case in &self.prepared.campaign.cases {
            let lacking = rule
                .min
                .saturating_sub(self.counted(&case.key).count() as u64);
            if lacking > 0 {
                self.warnings.push(format!(
                    "case {} has {lacking} trials less than it was to have: they were spoiled again and again",
                    case.key
                ));
            }
        }
        End::Complete
    }

    /// How many trials are still to come, and how long they take, were every case repeated as little as can be.
    fn left(&self) -> (u64, Duration) {
        let mut trials = 0;
        let mut time = Duration::ZERO;
        for (index, case) in self.prepared.campaign.cases.iter().enumerate() {
            let over = self.rounds_over(&case.key);
            let mut due = self.prepared.campaign.rule.min.saturating_sub(over);
            if due == 0 && self.is_due(case, over + 1) {
                due = 1;
            }
            trials += due;
            time += self.prepared.trial_time(index) * u32::try_from(due).unwrap_or(u32::MAX);
        }
        (trials, time)
    }

    /// Carries a case out once more.
    fn one(
        &mut self,
        index: usize,
        repeat: u64,
        progress: &mut Progress,
        captures: Option<&Path>,
        interrupt: &'static Interrupt,
    ) -> Result<(), Trouble> {
        let case = self.prepared.campaign.cases[index].clone();
        let place = self.prepared.places[index].clone();
        let started = StartedRun::now();
        let position = self.trials.len() as u64 + 1;
        let (left, time) = self.left();
        progress.begin(position, position - 1 + left, &case.key, time);
        let stage = Stage {
            case: &case,
            place: &place,
            // Another trial, another chance.
            seed: self
                .prepared
                .campaign
                .seed
                .wrapping_mul(1_000_003)
                .wrapping_add(position)
                >> 1,
            // A killed study's lab may still be on its way down when that study goes on.
            name: format!(
                "study-{}-{}-{position}",
                short(&self.id),
                std::process::id()
            ),
            captures: captures
                .filter(|_| case.capture)
                .map(|at| at.join(format!("{position}"))),
        };
        let monitor = MachineMonitor::start();
        let mut carried = carry::carry(&stage, interrupt)?;
        progress.end(self.prepared.trial_time(index));
        let metrics = metrics::trial_metrics(&case, &place, &carried);
        let environment = environment(&carried, monitor.machine(None));
        let predicted = self
            .expected
            .get(&case.key)
            .map(|one| one.predicted.clone());
        let trial = Trial {
            schema: TRIAL_SCHEMA.to_owned(),
            id: started.header.id.clone(),
            study: self.id.clone(),
            case: case.key.clone(),
            parameters: case.parameters.clone(),
            alone: case.alone.clone(),
            repeat,
            position,
            started: rfc3339(carried.zero_ns),
            zero_s: (carried.zero_ns / 1000) as f64 / 1e6,
            warm_up_s: case.warm_up.as_secs_f64(),
            measured_s: carried.measured_s,
            lab: carried.after.take().map(|report| json!(report)),
            interfaces: std::mem::take(&mut carried.interfaces),
            metrics,
            predicted: predicted.unwrap_or_default(),
            discarded: carried.discarded.clone(),
            warnings: carried.warnings.clone(),
            captures: carried.captures.clone(),
            flows: std::mem::take(&mut carried.flows),
        };
        self.archive.keep(StoredRun {
            id: started.header.id,
            kind: RunKind::Trial,
            started_ns: i64::try_from(carried.zero_ns).unwrap_or(i64::MAX),
            tool: TOOL.to_owned(),
            peer: None,
            title: Some(format!("{}: {}", self.prepared.source.name, case.key)),
            command: self.command.clone(),
            outcome: if trial.is_valid() {
                RunOutcome::Done
            } else {
                RunOutcome::Failed
            },
            trial: Some(StudyTrial {
                study: self.id.clone(),
                case: case.key.clone(),
                repeat: u32::try_from(repeat).unwrap_or(u32::MAX),
                position: u32::try_from(position - 1).unwrap_or(u32::MAX),
                baseline: case.alone.is_some(),
            }),
            headline: metrics::headline(&trial.flows, &trial.metrics),
            environment,
            document: StoredDocument::Trial(json!(trial).to_string()),
            series: series(&carried),
        });
        self.trials.push(trial);
        self.tell(&case, progress);
        Ok(())
    }

    /// The line of the last trial.
    fn tell(&self, case: &Case, progress: &mut Progress) {
        let Some(trial) = self.trials.last() else {
            return;
        };
        let (left, _) = self.left();
        let of = trial.position + left;
        if let Some(why) = &trial.discarded {
            let again = if self.rounds_over(&case.key) < trial.repeat {
                "it is done again"
            } else {
                "it is given up"
            };
            progress.trial(trial.position, of, &case.key, &[format!("{why}: {again}")]);
            return;
        }
        let values = self.values(&case.key);
        let confidence = self.prepared.campaign.rule.confidence;
        let said: Vec<String> = progress::shown(case)
            .iter()
            .filter_map(|metric| progress::words(case, metric, values.get(metric)?, confidence))
            .collect();
        progress.trial(trial.position, of, &case.key, &said);
    }
}

/// Rounds that are over, of trials by their round and whether they were spoiled: those with one that counts, and those given up
/// because more than `retries` were spoiled.
fn over(trials: impl Iterator<Item = (u64, bool)>, retries: u64) -> u64 {
    let mut rounds: BTreeMap<u64, (bool, u64)> = BTreeMap::new();
    for (round, spoiled) in trials {
        let (counts, bad) = rounds.entry(round).or_default();
        *counts |= !spoiled;
        *bad += u64::from(spoiled);
    }
    rounds
        .values()
        .filter(|(counts, bad)| *counts || *bad > retries)
        .count() as u64
}

/// The beginning of an id that people are shown.
#[must_use]
pub fn short(id: &str) -> &str {
    crate::recording::short(id)
}

/// The machines of a trial: what the first of its flows said of both ends, and this one meanwhile.
fn environment(carried: &Carried, machine: Machine) -> Environment {
    let of_first_run = carried
        .flows
        .iter()
        .find_map(|flow| flow.run.as_ref()?.environment.clone());
    Environment {
        machine: Some(machine),
        ..of_first_run.unwrap_or_default()
    }
}

/// Raw samples as the store has them.
fn series(carried: &Carried) -> Vec<SampleSeries> {
    let mut all = Vec::new();
    for (nth, raw) in &carried.raw {
        let mut put = |name: &str, unit: &str, values: &[f64]| {
            if !values.is_empty() {
                all.push(SampleSeries {
                    flow: u32::try_from(*nth).unwrap_or(u32::MAX),
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    values: values.to_vec(),
                });
            }
        };
        put("rtt", "ns", &raw.rtt_ns);
        put("first", "ns", &raw.first_ns);
        put("at", "s", &raw.at_s);
        // Of one connection and one size all are alike.
        let varies = |values: &[f64]| values.windows(2).any(|two| two[0] != two[1]);
        if varies(&raw.client) {
            put("client", "", &raw.client);
        }
        if varies(&raw.size) {
            put("size", "B", &raw.size);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spoiled_trial_is_done_again_until_one_counts_or_its_round_is_given_up() {
        let of = |trials: &[(u64, bool)], retries| over(trials.iter().copied(), retries);
        assert_eq!(of(&[], 3), 0);
        assert_eq!(of(&[(1, true)], 3), 0);
        assert_eq!(of(&[(1, true), (1, false)], 3), 1);
        assert_eq!(of(&[(1, true), (1, true), (1, true)], 3), 0);
        assert_eq!(of(&[(1, true), (1, true), (1, true), (1, true)], 3), 1);
        assert_eq!(of(&[(1, true)], 0), 1);
        assert_eq!(of(&[(1, false), (2, true)], 3), 1);
    }
}
