//! The names of parameters, flows and cases, and the rules for them.

use std::collections::BTreeSet;

use super::super::file::ExperimentFile;
use super::error::{ExperimentError, Result, top};
use caudal_topology::Location;

/// The most flows of an experiment.
const MOST_FLOW_FILES: usize = 64;

/// Holds names against the rules for names: of parameters, flows and cases.
pub(super) fn names(file: &ExperimentFile) -> Result<()> {
    const RESERVED: [&str; 8] = [
        "and", "or", "not", "true", "false", "baseline", "total", "links",
    ];
    if file.title.trim().is_empty() || file.title.contains(char::is_control) {
        return Err(ExperimentError::new(
            top("title"),
            "the title is empty or not one line",
            "say in a line what it is about",
        ));
    }
    if file.flow.is_empty() {
        return Err(ExperimentError::new(
            Location::default(),
            "the experiment has no flow",
            "write at least one [[flow]]",
        ));
    }
    if file.flow.len() > MOST_FLOW_FILES {
        return Err(ExperimentError::new(
            top("flow"),
            format!("{} flows are too many", file.flow.len()),
            format!("take at most {MOST_FLOW_FILES}, and count for more connections"),
        ));
    }
    let word = |at: Location, what: &str, name: &str| {
        let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.len() <= 64
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if fits && !RESERVED.contains(&name) {
            return Ok(());
        }
        Err(ExperimentError::new(
            at,
            format!("a {what} cannot be called {name:?}"),
            format!(
                "take letters, digits and _, a letter first, and none of {}",
                RESERVED.join(", ")
            ),
        ))
    };
    let mut seen = BTreeSet::new();
    for (index, flow) in file.flow.iter().enumerate() {
        let at = Location::element("flow", index).key("name");
        word(at.clone(), "flow", &flow.name)?;
        unique(&mut seen, at, "flow", &flow.name)?;
    }
    let mut seen = BTreeSet::new();
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = Location::element("parameter", index).key("name");
        word(at.clone(), "parameter", &parameter.name)?;
        unique(&mut seen, at, "parameter", &parameter.name)?;
    }
    let mut seen = BTreeSet::new();
    for (index, case) in file.case.iter().enumerate() {
        let at = Location::element("case", index).key("name");
        if case.name.trim() != case.name
            || case.name.is_empty()
            || case.name.len() > 64
            || case.name.contains(|c: char| c.is_control() || c == '"')
        {
            return Err(ExperimentError::new(
                at,
                format!("a case cannot be called {:?}", case.name),
                "take one short line without quotes",
            ));
        }
        unique(&mut seen, at, "case", &case.name)?;
    }
    Ok(())
}

fn unique<'a>(seen: &mut BTreeSet<&'a str>, at: Location, what: &str, name: &'a str) -> Result<()> {
    if seen.insert(name) {
        return Ok(());
    }
    Err(ExperimentError::new(
        at,
        format!("two {what}s are called {name}"),
        "give each a name of its own",
    ))
}

/// The names of the parameters, in the order of the file.
pub(super) fn parameter_names(file: &ExperimentFile) -> Vec<&str> {
    let names = file
        .parameter
        .iter()
        .map(|parameter| parameter.name.as_str());
    names.collect()
}
