//! What `--quick` changes, and where that is written.

use std::collections::BTreeSet;

use super::super::file::{ExperimentFile, QuickFile};
use super::super::nearest::suggestion;
use super::error::{ExperimentError, Result, element, no_case, no_parameter, top};
use super::matrix::Point;
use super::names::parameter_names;
use caudal_topology::Location;

/// Where a key was written that `--quick` may have replaced.
pub(super) struct Places<'a>(pub(super) Option<&'a QuickFile>);

impl Places<'_> {
    pub(super) fn time(&self, key: &str) -> Location {
        let time = self.0.and_then(|quick| quick.time.as_ref());
        let replaced = time.is_some_and(|time| match key {
            "measure" => time.measure.is_some(),
            "warm_up" => time.warm_up.is_some(),
            _ => time.interval.is_some(),
        });
        if replaced {
            return top("quick").key("time").key(key);
        }
        top("time").key(key)
    }

    pub(super) fn repeat(&self, key: &str) -> Location {
        let repeat = self.0.and_then(|quick| quick.repeat.as_ref());
        let replaced = repeat.is_some_and(|repeat| match key {
            "min" => repeat.min.is_some(),
            "max" => repeat.max.is_some(),
            "relative_error" => repeat.relative_error.is_some(),
            "confidence" => repeat.confidence.is_some(),
            "of" => !repeat.of.is_empty(),
            _ => repeat.retries.is_some(),
        });
        if replaced {
            return top("quick").key("repeat").key(key);
        }
        top("repeat").key(key)
    }

    pub(super) fn flow(&self, index: usize, name: &str, key: &str) -> Location {
        let flow = self.0.and_then(|quick| quick.flow.get(name));
        let replaced = flow.is_some_and(|flow| match key {
            "messages" => flow.messages.is_some(),
            "length" => flow.length.is_some(),
            "bytes" => flow.bytes.is_some(),
            _ => false,
        });
        if replaced {
            return top("quick").key("flow").key(name).key(key);
        }
        Location::element("flow", index).key(key)
    }

    pub(super) fn values(&self, index: usize, name: &str) -> Location {
        if self.0.is_some_and(|quick| quick.values.contains_key(name)) {
            return top("quick").key("values").key(name);
        }
        Location::element("parameter", index).key("values")
    }
}

/// The file with what `--quick` changes, and where that is written.
pub(super) fn quickened<'a>(
    file: &'a ExperimentFile,
    whole: &[Point],
) -> Result<(ExperimentFile, Places<'a>)> {
    let mut changed = file.clone();
    let Some(quick) = &file.quick else {
        return Ok((changed, Places(None)));
    };
    changed.quick = None;
    if let Some(time) = &quick.time {
        changed.time.measure = time.measure.or(changed.time.measure);
        changed.time.warm_up = time.warm_up.or(changed.time.warm_up);
        changed.time.interval = time.interval.or(changed.time.interval);
    }
    if let Some(repeat) = &quick.repeat {
        let old = &mut changed.repeat;
        // Fewer at least may not be more than the most that was meant for the whole.
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
                format!("no value of {name} is left"),
                "leave one at least",
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
    Ok((changed, Places(Some(quick))))
}
