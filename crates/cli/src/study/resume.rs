//! A study that goes on where it stopped.

use caudal_sys::signal::Interrupt;
use serde_json::{Value, json};
use std::collections::BTreeMap;

use super::archive::{self, Archive};
use super::args::ResumeArgs;
use super::place::Address;
use super::prepare::Prepared;
use super::run::Study;
use super::source::Source;
use crate::exit::{Exit, Failure};
use crate::output::document::rfc3339;
use caudal_experiment::CasePredictions;
use caudal_store::{Store, StoredItem, StoredStudy};

/// Goes on with a study: its experiment and its trials are in the store, its file need not be there any more.
///
/// # Errors
/// When there is no such study, or it cannot go on here.
pub fn resume(args: &ResumeArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    if args.output.store.no_store {
        return Err(Failure::usage(
            "--no-store leaves nothing to resume",
            "leave it out, or name the store with --store",
        ));
    }
    let at = Store::locate(args.output.store.store.as_deref()).ok_or_else(|| {
        Failure::usage(
            "studies are kept nowhere: CAUDAL_STORE says so",
            "name the store with --store FILE",
        )
    })?;
    let mut store = Store::open(&at).map_err(|error| archive::failure(&error))?;
    let kept = match store.find(&args.id) {
        Ok(StoredItem::Study(study)) => *study,
        Ok(StoredItem::Run(run)) => {
            return Err(Failure::usage(
                format!("{} is a run, not a study", super::run::short(&run.id)),
                "`caudal report list` shows what there is",
            ));
        }
        Err(error) => {
            let mut failure = archive::failure(&error);
            failure.exit = Exit::Usage;
            return Err(failure);
        }
    };
    let prepared = prepared(&kept)?;
    let trials = archive::trials(&store, &kept.id)?;
    prepared.can_run()?;
    let _ = store.record_event(&kept.id, "resumed", &json!({"trials": trials.len()}));
    let mut warnings = prepared.doubts();
    let known = prepared.campaign.cases.iter().map(|case| &case.key);
    let known: std::collections::BTreeSet<&String> = known.collect();
    if trials.iter().any(|trial| !known.contains(&trial.case)) {
        warnings.push("some trials are of cases that this version does not unfold".to_owned());
    }
    let mut study = Study {
        id: kept.id.clone(),
        started: rfc3339(u64::try_from(kept.started_ns).unwrap_or(0)),
        command: kept.command.clone(),
        expected: expected(&kept),
        warnings,
        environment: kept.environment.clone(),
        trials,
        archive: Archive::resume(store, kept.id),
        complete: false,
        prepared,
    };
    study.go(&args.output, args.output.out.as_deref(), interrupt)
}

fn prepared(kept: &StoredStudy) -> Result<Prepared, Failure> {
    let part = |name: &str| kept.campaign.get(name).cloned().unwrap_or(Value::Null);
    let other = |error: serde_json::Error| {
        Failure::new(
            Exit::Failed,
            format!("study {} was begun by another version: {error}", kept.id),
            "resume it with that version",
        )
    };
    let source: Source = serde_json::from_value(part("source")).map_err(other)?;
    let hosts: Option<BTreeMap<String, Address>> =
        serde_json::from_value(part("hosts")).map_err(other)?;
    Prepared::of(source, hosts)
}

/// What had been expected before anything was sent.
fn expected(kept: &StoredStudy) -> BTreeMap<String, CasePredictions> {
    let said = kept.events.iter().find(|(_, event, _)| event == "expected");
    let cases = said.and_then(|(_, _, detail)| detail.as_object());
    let numbers = |value: &Value| serde_json::from_value(value.clone()).unwrap_or_default();
    cases
        .into_iter()
        .flatten()
        .map(|(key, one)| {
            let expected = CasePredictions {
                predicted: numbers(&one["predicted"]),
                simulated: numbers(&one["simulated"]),
            };
            (key.clone(), expected)
        })
        .collect()
}
