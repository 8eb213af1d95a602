//! What the trials of a study add up to: document `caudal.study/1`.

mod checks;
mod contention;
mod lookup;
mod numbers;
mod tables;
#[cfg(test)]
mod tests;
mod text;
mod verdict;

use std::collections::BTreeMap;

use caudal_experiment::{Campaign, FigureFile, METRICS, Scalar};
use caudal_stats::Estimate;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::trial::Trial;

pub use text::text;

/// The name and version of the format.
pub const SCHEMA: &str = "caudal.study/1";

/// A text of which there are a few, all of them in the program.
pub type Name = &'static str;

/// The format's name, which must be the one this program writes.
fn schema<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    if name == SCHEMA {
        Ok(SCHEMA)
    } else {
        Err(serde::de::Error::custom(format!("{name} is not {SCHEMA}")))
    }
}

/// The name of a unit that metrics have; empty where it is none of them.
fn unit<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    Ok(METRICS
        .iter()
        .map(|metric| metric.unit.name())
        .find(|known| *known == name)
        .unwrap_or(""))
}

/// What was expected of a case beforehand, by the full names of metrics, in base units.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// What the formulas give.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted: BTreeMap<String, f64>,
    /// What the simulation gives.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub simulated: BTreeMap<String, f64>,
}

/// What is to be said of a study that is not in its experiment or trials.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudyMeta {
    /// Names it: 32 hexadecimal digits.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// What repeats it, seed included.
    pub command: String,
    /// Where it ran.
    pub environment: Value,
    /// Whether every trial was carried out that was to be.
    pub complete: bool,
    /// What to doubt.
    pub warnings: Vec<String>,
}

/// What the trials of a study add up to; trials may be missing, or be none at all.
#[must_use]
pub fn of(
    campaign: &Campaign,
    study: &StudyMeta,
    trials: &[Trial],
    forecasts: &BTreeMap<String, Forecast>,
) -> Findings {
    let numbers = numbers::Numbers::of(campaign, trials, forecasts);
    let contention = contention::of(campaign, &numbers);
    let all = lookup::All {
        campaign,
        numbers: &numbers,
        contention: &contention,
    };
    let experiment = &campaign.experiment;
    let mut findings = Findings {
        schema: SCHEMA,
        id: study.id.clone(),
        name: study.name.clone(),
        title: experiment.title.clone(),
        question: experiment.question.clone(),
        method: experiment.method.clone(),
        source: experiment.source.clone(),
        started: study.started.clone(),
        command: study.command.clone(),
        seed: campaign.seed,
        quick: campaign.quick,
        complete: study.complete,
        confidence: campaign.rule.confidence,
        trials: trials
            .iter()
            .filter(|trial| trial.spoiled.is_none())
            .count() as u64,
        spoiled: trials
            .iter()
            .filter(|trial| trial.spoiled.is_some())
            .count() as u64,
        verdict: Vec::new(),
        cases: numbers.cases.clone(),
        expectations: checks::expectations(&all),
        published: checks::published(&all),
        contention: contention.clone(),
        tables: tables::tables(campaign, &numbers),
        figures: tables::figures(campaign),
        conclusions: checks::conclusions(&all),
        environment: study.environment.clone(),
        warnings: study.warnings.clone(),
    };
    findings.verdict = verdict::of(campaign, &findings);
    findings
}

/// All that a report says of a study, before it is laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// [`SCHEMA`].
    #[serde(deserialize_with = "schema")]
    pub schema: Name,
    /// Names the study: 32 hexadecimal digits.
    pub id: String,
    /// The experiment's name: a shipped one's, or the file's.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// What it was to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// How it was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Where the published values come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// What repeats it, seed included.
    pub command: String,
    /// Where chance began.
    pub seed: u64,
    /// Whether the quick variant.
    pub quick: bool,
    /// Whether every trial was carried out that was to be.
    pub complete: bool,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// Trials that count, and that were spoiled and done again.
    pub trials: u64,
    /// Trials in which the emulator stood still.
    pub spoiled: u64,
    /// In plain words, the most important first; one sentence each.
    pub verdict: Vec<String>,
    /// Every case, in the order of the experiment, then the solo baselines.
    pub cases: Vec<CaseFindings>,
    /// What was to hold.
    pub expectations: Vec<Checked>,
    /// What was published beside what was observed.
    pub published: Vec<Beside>,
    /// Which flow starves, and from which load on, a group of the other parameters each.
    pub contention: Vec<Starvation>,
    /// Tables for the report.
    pub tables: Vec<Table>,
    /// What the figures are to show; the report draws them from the trials.
    pub figures: Vec<FigureFile>,
    /// Sentences that follow from the numbers, with the question each answers.
    pub conclusions: Vec<Conclusion>,
    /// Where it ran.
    pub environment: Value,
    /// What to doubt.
    pub warnings: Vec<String>,
}

/// A case over all its trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseFindings {
    /// Its key.
    pub key: String,
    /// In a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The value of every parameter.
    pub parameters: Vec<(String, Scalar)>,
    /// The flow that is alone, for a solo baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// Trials that count.
    pub n: u64,
    /// Whether the stopping rule was met; absent where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<bool>,
    /// Each metric over the trials.
    pub metrics: BTreeMap<String, MetricFindings>,
    /// The trials, by id, in the order they were carried out.
    pub trials: Vec<String>,
}

/// A metric of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricFindings {
    /// Its base unit, as JSON writes units.
    #[serde(deserialize_with = "unit")]
    pub unit: Name,
    /// Over the trials; of one trial a single value without an interval. Absent where no trial could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Estimate>,
    /// Each trial's value, in the order they were carried out.
    pub values: Vec<f64>,
    /// What the formulas give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predicted: Option<f64>,
    /// What the simulation gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<f64>,
    /// What was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
}

/// An expectation in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// As written.
    pub that: String,
    /// The case; absent where it is about the whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Why it should hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Whether it does; absent where that cannot be told.
    pub holds: Option<bool>,
    /// Both sides with their values and units, or why it cannot be told; also when the interval of the observed lies on both sides.
    pub evidence: String,
}

/// A published value beside ours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: String,
    /// Its base unit.
    #[serde(deserialize_with = "unit")]
    pub unit: Name,
    /// What was published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// What had been predicted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_prediction: Option<f64>,
    /// What we observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Estimate>,
    /// Ours over theirs, less one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Whether ours agrees within the tolerance; absent where that cannot be told.
    pub agrees: Option<bool>,
    /// Why it differs, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// How a flow fares as the load grows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starvation {
    /// The flow that may starve.
    pub victim: String,
    /// The other parameters of the group, `congestion=cubic`.
    pub group: String,
    /// The parameter that is the load.
    pub load: String,
    /// Each load that was tried: its value as written and as a number, the victim's goodput, share of its fair share, harm, part of the
    /// time starved, longest starvation in seconds.
    pub steps: Vec<StarvationStep>,
    /// The least load tried at which it starves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<f64>,
    /// The interval in which starvation begins: above the first, at most the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<(f64, f64)>,
    /// In a sentence.
    pub verdict: String,
}

/// One load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StarvationStep {
    /// The case.
    pub case: String,
    /// As written.
    pub load: String,
    /// As a number.
    pub value: f64,
    /// The victim's goodput, bit/s.
    pub goodput: Option<Estimate>,
    /// Of its max–min fair share.
    pub share: Option<Estimate>,
    /// Against its baseline.
    pub harm: Option<Estimate>,
    /// Part of the time below the limit.
    pub starved: Option<Estimate>,
    /// Longest time on end below it, seconds.
    pub longest_s: Option<f64>,
    /// Whether it starves at this load; absent where its interval lies on both sides of the limit.
    pub starves: Option<bool>,
}

/// A table, ready to be laid out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it is about.
    pub title: String,
    /// The column heads, in two levels: the metric, and which value of it; the first column is the case.
    pub columns: Vec<(String, String)>,
    /// A row each: its head, and a cell a column.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// With its unit; empty where there is nothing.
    pub text: String,
    /// In the metric's base unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Its interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
}

/// A sentence that follows from the numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The question it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
    /// The sentence.
    pub text: String,
}
