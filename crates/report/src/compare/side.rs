//! One side of a comparison: the results of its runs by case and metric, and their conditions.

use caudal_core::episode::EpisodeTally;
use caudal_core::quantity::Unit;
use caudal_core::run::{Run, RunOutcome};
use caudal_experiment::Trial;
use caudal_stats::TimedValue;
use caudal_store::{Filter, Store, StoreError, StoredItem, StoredRun};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::conditions::Conditions;
use super::direction::find_metric;
use super::run_metrics::RunMetrics;
use super::selection::{SidePart, side_parts};
use super::side_file::{SideFileError, runs_of_file};
use super::within_run::WithinRunEstimate;
use crate::document::{RunDocument, UnreadableTrial};
use crate::kinds::kind_report;

/// The key by which results of both sides are matched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MetricKey {
    /// The case of a study; empty for runs by themselves.
    pub case: String,
    /// The metric.
    pub metric: String,
}

/// The reason why a run is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum LeftOutReason {
    /// It ended early.
    #[serde(rename = "cut short")]
    CutShort,
    /// It gave no result.
    #[serde(rename = "failed")]
    Failed,
    /// It is a trial that was discarded.
    #[serde(rename = "discarded")]
    Discarded,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CutShort => "cut short",
            Self::Failed => "failed",
            Self::Discarded => "discarded",
        })
    }
}

/// The reason why a side cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// The store cannot be used, or has nothing of that id.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The document of a trial is not one that this version reads.
    #[error(transparent)]
    Trial(#[from] UnreadableTrial),
    /// Nothing in the store matches.
    #[error("nothing is recorded as {given:?}")]
    Empty {
        /// The selection as given.
        given: String,
    },
    /// Nothing has this tag.
    #[error("nothing is recorded as \"tag:{tag}\"")]
    UnknownTag {
        /// The tag that was given.
        tag: String,
    },
    /// A file cannot be read, or holds no run.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        cause: SideFileError,
    },
}

/// One side of a comparison.
#[derive(Debug, Clone, Default)]
pub struct Side {
    /// The selection as given.
    pub given: String,
    /// The number of its runs and studies, in words.
    pub what: String,
    /// The ids of its runs and studies.
    pub ids: Vec<String>,
    /// The results.
    pub readings: BTreeMap<MetricKey, Vec<TimedValue>>,
    /// The intervals within the runs, where runs have some, in the order of the results.
    pub within_runs: BTreeMap<MetricKey, Vec<WithinRunEstimate>>,
    /// The units of the metrics.
    pub units: BTreeMap<String, Unit>,
    /// The conditions.
    pub conditions: Conditions,
    /// The number of runs left out, by the reason.
    pub left_out: BTreeMap<LeftOutReason, usize>,
    /// The episodes of its runs.
    pub episodes: EpisodeTally,
}

impl Side {
    /// The side with the metrics of its only message size without that size, which is returned with it; `None` where there are several
    /// sizes, or none.
    #[must_use]
    pub fn without_size(&self) -> Option<(Self, String)> {
        let size_of = |metric: &str| -> Option<(String, String)> {
            let (rest, size) = metric.strip_suffix(" B")?.rsplit_once(' ')?;
            let is_size = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
            is_size.then(|| (rest.to_owned(), format!("{size} B")))
        };
        let mut sizes = self.readings.keys().map(|key| size_of(&key.metric));
        let (_, size) = sizes.next()??;
        if !sizes.all(|other| other.is_some_and(|(_, other)| other == size)) {
            return None;
        }
        let renamed =
            |metric: &str| size_of(metric).map_or_else(|| metric.to_owned(), |(name, _)| name);
        let key = |key: &MetricKey| MetricKey {
            case: key.case.clone(),
            metric: renamed(&key.metric),
        };
        let mut side = self.clone();
        side.readings = self
            .readings
            .iter()
            .map(|(of, values)| (key(of), values.clone()))
            .collect();
        side.within_runs = self
            .within_runs
            .iter()
            .map(|(of, values)| (key(of), values.clone()))
            .collect();
        side.units = self
            .units
            .iter()
            .map(|(metric, unit)| (renamed(metric), *unit))
            .collect();
        Some((side, size))
    }

    /// The side of a selection: ids, `last`, `last~N`, `tag:NAME`, `study:NAME`, files, or several of these with commas.
    ///
    /// # Errors
    /// When the store or a file cannot be read, has none of them, or there is no store for what is not a file.
    pub fn load(given: &str, store: Option<&Store>) -> Result<Self, SideError> {
        let mut side = Self {
            given: given.to_owned(),
            ..Self::default()
        };
        let (mut runs, mut studies) = (0_usize, 0_usize);
        for part in side_parts(given) {
            if let SidePart::File(path) = &part {
                let of_file = runs_of_file(path).map_err(|cause| SideError::File {
                    path: path.clone(),
                    cause,
                })?;
                for run in of_file {
                    side.add_run(&run)?;
                    side.ids.push(run.id);
                    runs += 1;
                }
                continue;
            }
            let Some(store) = store else {
                return Err(SideError::Empty { given: side.given });
            };
            for id in selected_ids(&part, store)? {
                if side.ids.contains(&id) {
                    continue;
                }
                match store.find(&id)? {
                    StoredItem::Run(run) => {
                        side.add_run(&run)?;
                        runs += 1;
                    }
                    StoredItem::Study(study) => {
                        side.conditions.add_all("experiment", &study.experiment);
                        for trial in store.trials(&study.id)? {
                            side.add_run(&trial)?;
                        }
                        studies += 1;
                    }
                }
                side.ids.push(id);
            }
        }
        if side.ids.is_empty() {
            return Err(SideError::Empty { given: side.given });
        }
        let count = |count: usize, one: &str, more: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {more}")),
        };
        let parts = [
            count(studies, "study", "studies"),
            count(runs, "run", "runs"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        side.what = parts.join(" and ");
        Ok(side)
    }

    fn leave_out(&mut self, reason: LeftOutReason) {
        *self.left_out.entry(reason).or_default() += 1;
    }

    fn add_run(&mut self, stored: &StoredRun) -> Result<(), SideError> {
        match stored.outcome {
            RunOutcome::Done => {}
            RunOutcome::CutShort => {
                self.leave_out(LeftOutReason::CutShort);
                return Ok(());
            }
            RunOutcome::Failed => {
                self.leave_out(LeftOutReason::Failed);
                return Ok(());
            }
        }
        self.conditions.add("tool", &stored.tool.to_string());
        self.conditions.add_all("", &stored.environment);
        match RunDocument::try_from(&stored.document)? {
            RunDocument::Trial(trial) => self.add_trial(&trial),
            RunDocument::Run(run) => {
                self.conditions.add_all("plan", &run.plan);
                let began_s = run.began_s.unwrap_or(stored.started_ns as f64 / 1e9);
                self.add_run_metrics(&run, began_s);
            }
        }
        Ok(())
    }

    /// Adds the value of a metric of a run that began at `at_s` (s since 1970).
    fn add(&mut self, case: &str, metric: &str, unit: Option<Unit>, at_s: f64, value: Option<f64>) {
        let Some(value) = value else { return };
        if let Some(unit) = unit {
            self.units.insert(metric.to_owned(), unit);
        }
        let key = MetricKey {
            case: case.to_owned(),
            metric: metric.to_owned(),
        };
        self.readings.entry(key).or_default().push(TimedValue {
            at_s: Some(at_s),
            value,
        });
    }

    /// Adds the interval within a run of a metric.
    fn add_within_run(&mut self, metric: &str, estimate: Option<WithinRunEstimate>) {
        let key = MetricKey {
            case: String::new(),
            metric: metric.to_owned(),
        };
        let of_metric = self.within_runs.entry(key).or_default();
        of_metric.extend(estimate);
    }

    fn add_trial(&mut self, trial: &Trial) {
        if !trial.is_valid() {
            self.leave_out(LeftOutReason::Discarded);
            return;
        }
        for (name, value) in &trial.metrics {
            let unit = find_metric(name).map(|metric| metric.unit);
            self.add(&trial.case, name, unit, trial.zero_s, Some(*value));
        }
    }

    /// Adds the results of a run that began at `at_s` (s since 1970).
    fn add_run_metrics(&mut self, run: &Run, at_s: f64) {
        let mut found = RunMetrics::default();
        kind_report(run.kind()).metrics(run, at_s, &mut found);
        self.episodes += run.episodes.iter().collect();
        let rate = run.search().and_then(|search| search.found.rate_bps);
        let rate = rate.map(|rate| rate as f64);
        found.add("", "rate", Some(Unit::BitPerSecond), at_s, rate);
        for one in found.metrics {
            self.add(&one.case, &one.metric, one.unit, one.at_s, Some(one.value));
        }
        for (metric, estimate) in found.within_run {
            self.add_within_run(&metric, estimate);
        }
        for _ in 0..found.cut_short {
            self.leave_out(LeftOutReason::CutShort);
        }
    }
}

/// The ids of a part that is in the store.
fn selected_ids(part: &SidePart, store: &Store) -> Result<Vec<String>, SideError> {
    let newest_first = |filter: Filter| -> Result<Vec<String>, StoreError> {
        let entries = store.list(&filter)?;
        Ok(entries.into_iter().map(|entry| entry.id).collect())
    };
    match part {
        SidePart::Id(id) => Ok(vec![store.resolve(id)?]),
        SidePart::Tag(tag) => {
            let tagged = newest_first(Filter {
                tag: Some(tag.clone()),
                trials: true,
                ..Filter::default()
            })?;
            if tagged.is_empty() {
                return Err(SideError::UnknownTag { tag: tag.clone() });
            }
            Ok(tagged)
        }
        SidePart::Study(name) => Ok(vec![store.newest_study(name)?]),
        SidePart::File(_) => Ok(Vec::new()),
    }
}
