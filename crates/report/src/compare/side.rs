//! One side of a comparison: the results of its runs by case and metric, and their conditions.

use caudal_core::path::{HopAnswering, PathReport, StatementConfidence};
use caudal_core::quality::{PhaseReport, ProbeKind};
use caudal_core::quantity::Unit;
use caudal_core::run::{Repeat, RepeatDirection, Run};
use caudal_core::summary::DirectionSummary;
use caudal_core::transfer::FileReport;
use caudal_experiment::Trial;
use caudal_stats::{Estimate, TimedValue};
use caudal_store::{Filter, RunOutcome, Store, StoreError, StoredItem, StoredRun};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use super::conditions::Conditions;
use super::direction::find_metric;
use super::selection::{SidePart, side_parts};
use super::side_file::{SideFileError, runs_of_file};
use super::within_run::WithinRunEstimate;
use crate::document::{RunDocument, UnreadableTrial};

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
    #[serde(rename = "spoiled")]
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
}

impl Side {
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
                if run.repeats.is_empty() {
                    self.add_single(&run, began_s);
                } else {
                    self.add_repeats(&run.repeats, began_s);
                }
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

    /// Adds each of several runs of one command. One without a date is taken to follow the one before without a pause.
    fn add_repeats(&mut self, repeats: &[Repeat], began_s: f64) {
        let mut at_s = began_s;
        for repeat in repeats {
            if repeat.cut_short.is_none() {
                let directions = repeat.directions.iter().map(DirectionResult::from);
                self.add_directions(
                    &directions.collect::<Vec<_>>(),
                    repeat.began_s.unwrap_or(at_s),
                );
            } else {
                self.leave_out(LeftOutReason::CutShort);
            }
            let measured_s = repeat.directions.first().map_or(0.0, |one| one.measured_s);
            at_s += measured_s.max(1e-3);
        }
    }

    fn add_single(&mut self, run: &Run, at_s: f64) {
        let directions = run.directions().iter().map(DirectionResult::from);
        self.add_directions(&directions.collect::<Vec<_>>(), at_s);
        for size in run.round_trips().iter().flat_map(|summary| &summary.sizes) {
            let bytes = size.size_bytes;
            let mean_s = size.pooled.mean_us.map(|mean| mean.mean / 1e6);
            self.add(
                "",
                &format!("rtt {bytes} B"),
                Some(Unit::Seconds),
                at_s,
                mean_s,
            );
            let within = size.pooled.rtt_us.map(|rtt| WithinRunEstimate {
                estimate: in_seconds(rtt.mean_estimate()),
                is_trusted: rtt.mean_trusted,
            });
            self.add_within_run(&format!("rtt {bytes} B"), within);
            let loss = mean(size.pooled.loss);
            self.add(
                "",
                &format!("loss {bytes} B"),
                Some(Unit::Share),
                at_s,
                loss,
            );
        }
        for phase in run.quality.iter().flat_map(|report| &report.phases) {
            self.add_phase(phase, at_s);
        }
        if let Some(report) = &run.file {
            self.add_transfers(report, at_s);
        }
        if let Some(report) = &run.path {
            self.add_path(report, at_s);
        }
        let rate = run.search.as_ref().and_then(|search| search.found.rate_bps);
        let rate = rate.map(|rate| rate as f64);
        self.add("", "rate", Some(Unit::BitPerSecond), at_s, rate);
    }

    /// Adds each verified transfer, by what it transferred and how.
    fn add_transfers(&mut self, report: &FileReport, at_s: f64) {
        for run in &report.runs {
            let (Some(cell), Some(time_s)) =
                (report.cells.get(run.cell as usize), run.result.time_s())
            else {
                self.leave_out(LeftOutReason::CutShort);
                continue;
            };
            let (case, name) = (cell.cell.content(), cell.cell.name());
            let at_s = run.began_s.unwrap_or(at_s);
            let goodput = run.result.goodput_bps;
            let metric = format!("time {name}");
            self.add(&case, &metric, Some(Unit::Seconds), at_s, Some(time_s));
            let metric = format!("goodput {name}");
            self.add(&case, &metric, Some(Unit::BitPerSecond), at_s, goodput);
        }
    }

    /// Adds the narrow link and the host of a path, and each hop by its address: different routers are not compared.
    fn add_path(&mut self, report: &PathReport, at_s: f64) {
        let (rate, time, share) = (Unit::BitPerSecond, Unit::Seconds, Unit::Share);
        if let Some(narrow) = &report.narrow {
            let capacity = narrow.capacity_bps;
            self.add("", "capacity", Some(rate), at_s, Some(capacity.mean));
            let is_trusted = report
                .link(narrow.ttl)
                .is_some_and(|link| link.confidence != StatementConfidence::Low);
            let within = WithinRunEstimate {
                estimate: capacity,
                is_trusted,
            };
            self.add_within_run("capacity", Some(within));
        }
        let mtu = report.mtu.as_ref().map(|mtu| mtu.bytes.as_f64());
        self.add("", "path_mtu", Some(Unit::Bytes), at_s, mtu);
        let host = report.host().map(|host| host.ttl);
        for hop in &report.hops {
            let Some(address) = hop.address else { continue };
            let rtt_s = hop.rtt_ms.map(|rtt| rtt.mean / 1e3);
            let loss = hop.loss();
            // What a hop does not answer for a limit on its rate is not lost.
            let loss = loss.filter(|_| hop.answering == HopAnswering::Answers);
            let case = format!("hop {} {address}", hop.ttl);
            if host == Some(hop.ttl) {
                self.add("", "rtt", Some(time), at_s, rtt_s);
                self.add("", "loss", Some(share), at_s, loss);
            } else {
                self.add(&case, "rtt_hop", Some(time), at_s, rtt_s);
                self.add(&case, "loss_hop", Some(share), at_s, loss);
            }
            let link = report.link(hop.ttl);
            let capacity = link.and_then(|link| mean(link.capacity_bps));
            self.add(&case, "capacity_link", Some(rate), at_s, capacity);
        }
    }

    /// Adds a phase of a test of latency under load.
    fn add_phase(&mut self, phase: &PhaseReport, at_s: f64) {
        let load = phase.load.name();
        for one in &phase.directions {
            let name = format!("goodput {} {load}", one.summary.direction.name());
            let goodput = one.summary.goodput_mean();
            self.add("", &name, Some(Unit::BitPerSecond), at_s, goodput);
        }
        let udp = phase.probe(ProbeKind::Udp);
        let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
        let times = [
            ("rtt", seconds(udp.map(|udp| udp.mean_us))),
            ("rtt_p95", seconds(udp.and_then(|udp| udp.p95_us))),
            (
                "rtt_added",
                seconds(phase.added_rtt.map(|added| added.mean_us)),
            ),
        ];
        for (name, value) in times {
            self.add(
                "",
                &format!("{name} {load}"),
                Some(Unit::Seconds),
                at_s,
                value,
            );
        }
        let loss = udp.and_then(|udp| mean(udp.loss));
        self.add("", &format!("loss {load}"), Some(Unit::Share), at_s, loss);
        let rpm = phase.responsiveness.map(|found| found.rpm);
        self.add("", &format!("rpm {load}"), None, at_s, rpm);
    }

    fn add_directions(&mut self, directions: &[DirectionResult], at_s: f64) {
        for one in directions {
            let suffix = if directions.len() > 1 {
                format!(" {}", one.direction)
            } else {
                String::new()
            };
            for (name, unit, value) in one.metrics {
                self.add("", &format!("{name}{suffix}"), Some(unit), at_s, value);
            }
            self.add_within_run(&format!("goodput{suffix}"), one.goodput);
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

/// The results of a direction: name, unit and value of each metric.
struct DirectionResult {
    direction: &'static str,
    metrics: [(&'static str, Unit, Option<f64>); 6],
    /// The goodput with the interval within the run.
    goodput: Option<WithinRunEstimate>,
}

impl From<&DirectionSummary> for DirectionResult {
    fn from(summary: &DirectionSummary) -> Self {
        let loss = summary.loss.as_ref().and_then(|loss| loss.fraction);
        let tcp = summary.tcp.unwrap_or_default();
        let jitter_us = summary.delay.map(|delay| delay.jitter_rfc3550_us);
        Self {
            direction: summary.direction.name(),
            goodput: summary.goodput_bps.map(|estimate| WithinRunEstimate {
                estimate,
                is_trusted: summary.goodput_trusted == Some(true),
            }),
            metrics: [
                ("goodput", Unit::BitPerSecond, summary.goodput_mean()),
                ("sent", Unit::BitPerSecond, summary.sent_bps),
                ("loss", Unit::Share, mean(loss)),
                ("jitter", Unit::Seconds, jitter_us.map(|us| us / 1e6)),
                (
                    "retransmits",
                    Unit::Segments,
                    tcp.retransmits.map(|count| count as f64),
                ),
                ("rtt", Unit::Seconds, tcp.rtt_mean_us.map(|us| us / 1e6)),
            ],
        }
    }
}

impl From<&RepeatDirection> for DirectionResult {
    fn from(repeat: &RepeatDirection) -> Self {
        let loss = repeat.loss.as_ref().and_then(|loss| loss.fraction);
        Self {
            direction: repeat.direction.name(),
            // A repeat is one of several runs, whose spread decides.
            goodput: None,
            metrics: [
                ("goodput", Unit::BitPerSecond, mean(repeat.goodput_bps)),
                ("sent", Unit::BitPerSecond, None),
                ("loss", Unit::Share, mean(loss)),
                ("jitter", Unit::Seconds, None),
                ("retransmits", Unit::Segments, None),
                ("rtt", Unit::Seconds, None),
            ],
        }
    }
}

fn mean(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.mean)
}

/// An estimate in microseconds, in seconds.
fn in_seconds(estimate: Estimate) -> Estimate {
    Estimate {
        mean: estimate.mean / 1e6,
        low: estimate.low / 1e6,
        high: estimate.high / 1e6,
        ..estimate
    }
}
