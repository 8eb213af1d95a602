//! The findings of a study as a document, `caudal.study/1`.

use caudal_core::run::Environment;
use serde::{Deserialize, Deserializer, Serialize};

use super::case_findings::CaseFindings;
use super::conclusion::Conclusion;
use super::expectation::CheckedExpectation;
use super::published::PublishedComparison;
use super::starvation::Starvation;
use super::table::FindingsTable;
use crate::file::FigureFile;

/// The name and version of the format of findings.
pub const FINDINGS_SCHEMA: &str = "caudal.study/1";

/// The name of the format, [`FINDINGS_SCHEMA`].
pub type SchemaName = &'static str;

/// Reads the name of the format, which must be the one that this program writes.
fn schema<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let name = String::deserialize(from)?;
    if name == FINDINGS_SCHEMA {
        Ok(FINDINGS_SCHEMA)
    } else {
        Err(serde::de::Error::custom(format!(
            "{name} is not {FINDINGS_SCHEMA}"
        )))
    }
}

/// The identity of a study and the conditions under which it ran.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudyHeader {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// The name of the experiment.
    pub name: String,
    /// The time of its start, RFC 3339, UTC.
    pub started: String,
    /// The command that repeats it, seed included.
    pub command: String,
    /// The machines, as they are printed again.
    pub environment: Environment,
    /// `true` when every trial was carried out.
    pub complete: bool,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// The results of the trials of a study: the content of its report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Findings {
    /// [`FINDINGS_SCHEMA`].
    #[serde(deserialize_with = "schema")]
    pub schema: SchemaName,
    /// The id of the study: 32 hexadecimal digits.
    pub id: String,
    /// The name of the experiment: of one that comes with the program, or of its file.
    pub name: String,
    /// The title of the experiment.
    pub title: String,
    /// The question it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The source of the published values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The time of its start, RFC 3339, UTC.
    pub started: String,
    /// The command that repeats it, seed included.
    pub command: String,
    /// The random seed.
    pub seed: u64,
    /// `true` for the quick variant.
    pub quick: bool,
    /// `true` when every trial was carried out.
    pub complete: bool,
    /// The confidence of all intervals.
    pub confidence: f64,
    /// The number of valid trials.
    pub trials: u64,
    /// The number of trials that were discarded.
    #[serde(alias = "spoiled")]
    pub discarded: u64,
    /// The results in sentences, the most important first.
    pub verdict: Vec<String>,
    /// The cases, in the order of the experiment, then the solo baselines.
    pub cases: Vec<CaseFindings>,
    /// The expectations, each in every case that it is about.
    pub expectations: Vec<CheckedExpectation>,
    /// The published values beside those observed.
    pub published: Vec<PublishedComparison>,
    /// The load at which a flow starves, for each group of the other parameters.
    pub contention: Vec<Starvation>,
    /// The tables of the report.
    pub tables: Vec<FindingsTable>,
    /// The figures of the report, which draws them from the trials.
    pub figures: Vec<FigureFile>,
    /// The conclusions.
    pub conclusions: Vec<Conclusion>,
    /// The machines, as they are printed again.
    pub environment: Environment,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}
