//! The contents of a store as values: runs with their samples, studies with their events.

use caudal_core::run::{Environment, Run, RunOutcome};
use caudal_core::text::ExternalText;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::document::StoredDocument;
use crate::headline::Headline;
use crate::kind::RunKind;

/// A run that has ended, with everything known about it.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The id: 32 hexadecimal digits.
    pub id: String,
    /// The kind.
    pub kind: RunKind,
    /// The start, ns of the wall clock since 1970.
    pub started_ns: i64,
    /// The program that measured, with its version.
    pub tool: ExternalText,
    /// The address of the peer.
    pub peer: Option<ExternalText>,
    /// The title.
    pub title: Option<ExternalText>,
    /// The command that repeats it.
    pub command: ExternalText,
    /// The outcome.
    pub outcome: RunOutcome,
    /// The study that it belongs to as a trial.
    pub trial: Option<StudyTrial>,
    /// The run that it is a part of, by its id: one of several transfers, or of several tests of one host.
    pub part_of: Option<String>,
    /// The most important results.
    pub headline: Headline,
    /// The machines.
    pub environment: Environment,
    /// The document.
    pub document: StoredDocument,
    /// The raw samples.
    pub series: Vec<SampleSeries>,
}

impl StoredRun {
    /// A run by itself that started `started_ns` after the beginning of 1970, without samples. Its machines are those of its
    /// document.
    #[must_use]
    pub fn new(run: Run, started_ns: i64, outcome: RunOutcome) -> Self {
        Self {
            id: run.header.id.clone(),
            kind: RunKind::from(&run),
            started_ns,
            tool: tool_label(&run),
            peer: run.plan.peer().cloned(),
            title: None,
            command: run.header.command.clone().unwrap_or_default(),
            outcome,
            trial: None,
            part_of: None,
            headline: Headline::from(&run),
            environment: run.environment.clone().unwrap_or_default(),
            document: StoredDocument::Run(Box::new(run)),
            series: Vec::new(),
        }
    }
}

/// The program that measured with its version, as lists show it: `caudal 0.1.0 (as iperf3)`, `iperf3 3.12 (imported)`.
fn tool_label(run: &Run) -> ExternalText {
    let tool = &run.header.tool;
    let version = tool.version.iter().map(|version| format!(" {version}"));
    let compatible_with = tool.compatible_with.iter();
    let note = compatible_with
        .map(|other| format!(" (as {other})"))
        .chain(run.imported.iter().map(|_| " (imported)".to_owned()));
    let label: String = std::iter::once(tool.name.to_string())
        .chain(version)
        .chain(note)
        .collect();
    label.into()
}

/// A trial of a study.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyTrial {
    /// The id of the study.
    pub study: String,
    /// The case.
    pub case: String,
    /// The repetition of the case, from 1.
    pub repeat: u32,
    /// The position among the trials of the study, from 1, in the order of execution.
    pub position: u32,
    /// `true` for a solo baseline.
    pub baseline: bool,
}

/// The raw samples of one quantity of one flow, in the order in which they were taken.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleSeries {
    /// The number of the flow.
    pub flow: u32,
    /// The quantity, such as `rtt 64 B`.
    pub name: String,
    /// The unit, such as `ns`.
    pub unit: String,
    /// The samples; NaN for a missing one, such as the round-trip time of a lost message.
    pub values: Vec<f64>,
}

/// A study: one execution of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredStudy {
    /// The id: 32 hexadecimal digits.
    pub id: String,
    /// The name of the experiment.
    pub name: String,
    /// The title of the experiment.
    pub title: String,
    /// The start, ns of the wall clock since 1970.
    pub started_ns: i64,
    /// The random seed.
    pub seed: u64,
    /// The command that repeats it.
    pub command: String,
    /// The experiment as resolved, overrides included.
    pub experiment: Value,
    /// The cases and their order.
    pub campaign: Value,
    /// The machines.
    pub environment: Environment,
    /// The events: time (ns since 1970), name, and details. Those passed to
    /// [`record_study`](crate::Store::record_study) are its first.
    pub events: Vec<(i64, String, Value)>,
}

impl StoredStudy {
    /// The state, from the last event that determines it: `done`, `interrupted`, `failed`, or
    /// `unfinished` while the study runs and after it was killed.
    #[must_use]
    pub fn state(&self) -> &str {
        state(self.events.iter().map(|(_, event, _)| event.as_str()))
    }
}

/// The state of a study with these events.
pub(super) fn state<'a>(events: impl DoubleEndedIterator<Item = &'a str>) -> &'a str {
    events
        .rev()
        .find_map(|event| match event {
            "done" | "interrupted" | "failed" => Some(event),
            "resumed" | "begun" => Some("unfinished"),
            _ => None,
        })
        .unwrap_or("unfinished")
}

/// An item of the store.
#[derive(Debug, Clone, PartialEq)]
pub enum StoredItem {
    /// A run, or a trial of a study, with its samples.
    Run(Box<StoredRun>),
    /// A study, without its trials.
    Study(Box<StoredStudy>),
}

impl StoredItem {
    /// The id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Run(run) => &run.id,
            Self::Study(study) => &study.id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_study_follows_from_its_last_relevant_event() {
        let cases: [(&[&str], &str); 7] = [
            (&[], "unfinished"),
            (&["begun"], "unfinished"),
            (&["begun", "interrupted"], "interrupted"),
            (&["interrupted", "resumed"], "unfinished"),
            (&["resumed", "done"], "done"),
            (&["done", "findings"], "done"),
            (&["failed", "findings"], "failed"),
        ];
        for (events, expected) in cases {
            assert_eq!(state(events.iter().copied()), expected, "{events:?}");
        }
    }
}
