//! The changes made by `--quick`.

use super::check_names::parameter_names;
use super::error::{ExperimentError, Result, element, no_case, no_parameter, top};
use super::key_locations::KeyLocations;
use super::matrix::Point;
use crate::file::{ExperimentFile, RepeatFile, TimeFile};
use crate::suggestion::suggestion;
use std::collections::BTreeSet;

/// The file with the changes of `--quick` applied, and the locations of its keys.
pub(super) fn apply_quick<'a>(
    file: &'a ExperimentFile,
    whole: &[Point],
) -> Result<(ExperimentFile, KeyLocations<'a>)> {
    let mut changed = file.clone();
    let Some(quick) = &file.quick else {
        return Ok((changed, KeyLocations(None)));
    };
    changed.quick = None;
    if let Some(time) = &quick.time {
        apply_times(&mut changed.time, time);
    }
    if let Some(repeat) = &quick.repeat {
        apply_repetitions(&mut changed.repeat, repeat);
    }
    for (name, values) in &quick.values {
        let at = top("quick").key("values").key(name);
        let parameter = changed
            .parameter
            .iter_mut()
            .find(|parameter| parameter.name == *name);
        let parameter =
            parameter.ok_or_else(|| no_parameter(at.clone(), name, parameter_names(file)))?;
        if values.is_empty() {
            return Err(ExperimentError::new(
                at,
                format!("{name} has no value left"),
                "keep at least one",
            ));
        }
        parameter.values.clone_from(values);
    }
    changed.exclude.extend(quick.exclude.iter().cloned());
    for (index, name) in quick.cases.iter().enumerate() {
        if !file.case.iter().any(|case| case.name == *name) {
            let at = element(&top("quick").key("cases"), index);
            let names = whole.iter().filter_map(|point| point.name.as_deref());
            let names: BTreeSet<&str> = names.collect();
            return Err(no_case(at, name, names));
        }
    }
    if !quick.cases.is_empty() {
        changed.case.retain(|case| quick.cases.contains(&case.name));
    }
    for (name, flow) in &quick.flow {
        let old = changed.flow.iter_mut().find(|old| old.name == *name);
        let old = old.ok_or_else(|| {
            let known = file.flow.iter().map(|flow| flow.name.as_str());
            ExperimentError::new(
                top("quick").key("flow").key(name),
                format!("there is no flow {name:?}"),
                suggestion(name, "flow", known),
            )
        })?;
        old.messages = flow.messages.clone().or(old.messages.take());
        old.length = flow.length.clone().or(old.length.take());
        old.bytes = flow.bytes.clone().or(old.bytes.take());
    }
    Ok((changed, KeyLocations(Some(quick))))
}

fn apply_times(old: &mut TimeFile, quick: &TimeFile) {
    old.measure = quick.measure.or(old.measure);
    old.warm_up = quick.warm_up.or(old.warm_up);
    old.interval = quick.interval.or(old.interval);
}

fn apply_repetitions(old: &mut RepeatFile, repeat: &RepeatFile) {
    // The minimum must not exceed a maximum that was meant for the full variant.
    if let Some(min) = repeat.min {
        old.min = Some(min);
        old.max = old.max.map(|max| max.max(min));
    }
    if let Some(max) = repeat.max {
        old.max = Some(max);
        if repeat.min.is_none() {
            old.min = old.min.map(|min| min.min(max));
        }
    }
    old.relative_error = repeat.relative_error.clone().or(old.relative_error.take());
    if !repeat.of.is_empty() {
        old.of.clone_from(&repeat.of);
    }
    old.confidence = repeat.confidence.or(old.confidence);
    old.retries = repeat.retries.or(old.retries);
}
