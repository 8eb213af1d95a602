//! `caudal study list`: the experiments that come with the program.

use std::time::Duration;

use caudal_study::{
    ExperimentChanges, ExperimentSource, PreparedExperiment, SHIPPED_EXPERIMENTS, ShippedExperiment,
};
use serde::Serialize;

use crate::exit::Failure;
use crate::output::fold;
use caudal_views::text::{about, counted};

/// An experiment of the list.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    title: String,
    full: VariantSize,
    quick: VariantSize,
}

/// The size of a variant of an experiment.
#[derive(Serialize)]
struct VariantSize {
    cases: usize,
    trials: Range<u64>,
    time_s: Range<f64>,
}

/// The smallest and the largest value.
#[derive(Serialize)]
struct Range<T> {
    #[serde(rename = "least")]
    min: T,
    #[serde(rename = "most")]
    max: T,
}

/// The list, as JSON or text.
pub(super) fn list(json: bool) -> Result<String, Failure> {
    let listed: Result<Vec<Listed>, Failure> = SHIPPED_EXPERIMENTS.iter().map(listed).collect();
    let listed = listed?;
    if json {
        let text = serde_json::to_string_pretty(&listed).unwrap_or_default();
        return Ok(format!("{text}\n"));
    }
    Ok(listed.iter().map(text).collect())
}

fn listed(shipped: &ShippedExperiment) -> Result<Listed, Failure> {
    let full = prepare(shipped, false)?;
    let quick = prepare(shipped, true)?;
    Ok(Listed {
        name: shipped.name,
        full: VariantSize::new(&full),
        quick: VariantSize::new(&quick),
        title: full.campaign.experiment.title,
    })
}

fn prepare(shipped: &ShippedExperiment, quick: bool) -> Result<PreparedExperiment, Failure> {
    let changes = ExperimentChanges {
        quick,
        ..ExperimentChanges::default()
    };
    let source = ExperimentSource::shipped(shipped, &changes);
    Ok(PreparedExperiment::new(source, None)?)
}

impl VariantSize {
    fn new(prepared: &PreparedExperiment) -> Self {
        let (min_trials, max_trials) = prepared.trials();
        let (min_time, max_time) = prepared.time();
        Self {
            cases: prepared.campaign.cases.len(),
            trials: Range {
                min: min_trials,
                max: max_trials,
            },
            time_s: Range {
                min: min_time.as_secs_f64(),
                max: max_time.as_secs_f64(),
            },
        }
    }

    fn text(&self) -> String {
        let cases = counted(self.cases as u64, "case");
        let time = Duration::from_secs_f64(self.time_s.min);
        format!("{cases}, {}", about(time))
    }
}

fn text(listed: &Listed) -> String {
    let title = fold(&format!("{}: {}", listed.name, listed.title), 4);
    let (full, quick) = (listed.full.text(), listed.quick.text());
    format!("{title}\n    {full}; --quick: {quick}\n")
}
