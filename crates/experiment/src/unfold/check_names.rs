//! The rules for the names of parameters, flows and cases.

use std::collections::BTreeSet;

use super::error::{ExperimentError, Result, top};
use crate::file::ExperimentFile;
use caudal_topology::Location;

/// Maximum number of flows of an experiment.
const MAX_FLOWS_IN_FILE: usize = 64;

/// Words of the expression language, which cannot be names.
const RESERVED: [&str; 8] = [
    "and", "or", "not", "true", "false", "baseline", "total", "links",
];

/// Checks the title, and the names of parameters, flows and cases.
pub(super) fn check_names(file: &ExperimentFile) -> Result<()> {
    check_title_and_flows(file)?;
    let mut seen = BTreeSet::new();
    for (index, flow) in file.flow.iter().enumerate() {
        let at = Location::element("flow", index).key("name");
        check_identifier(at.clone(), "flow", &flow.name)?;
        unique(&mut seen, at, "flow", &flow.name)?;
    }
    let mut seen = BTreeSet::new();
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = Location::element("parameter", index).key("name");
        check_identifier(at.clone(), "parameter", &parameter.name)?;
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
                format!("a case cannot have the name {:?}", case.name),
                "use a single short line without quotes",
            ));
        }
        unique(&mut seen, at, "case", &case.name)?;
    }
    Ok(())
}

/// Checks the title and the number of flows.
fn check_title_and_flows(file: &ExperimentFile) -> Result<()> {
    if file.title.trim().is_empty() || file.title.contains(char::is_control) {
        return Err(ExperimentError::new(
            top("title"),
            "the title is empty or not one line",
            "write a title of one line",
        ));
    }
    if file.flow.is_empty() {
        return Err(ExperimentError::new(
            Location::default(),
            "the experiment has no flow",
            "write at least one [[flow]]",
        ));
    }
    if file.flow.len() > MAX_FLOWS_IN_FILE {
        return Err(ExperimentError::new(
            top("flow"),
            format!("{} flows are too many", file.flow.len()),
            format!("use at most {MAX_FLOWS_IN_FILE}, and `count` for more connections"),
        ));
    }
    Ok(())
}

/// Checks the name of a flow or parameter: an identifier that expressions can contain.
fn check_identifier(at: Location, what: &str, name: &str) -> Result<()> {
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if fits && !RESERVED.contains(&name) {
        return Ok(());
    }
    Err(ExperimentError::new(
        at,
        format!("a {what} cannot have the name {name:?}"),
        format!(
            "use letters, digits and _, starting with a letter, and none of {}",
            RESERVED.join(", ")
        ),
    ))
}

fn unique<'a>(seen: &mut BTreeSet<&'a str>, at: Location, what: &str, name: &'a str) -> Result<()> {
    if seen.insert(name) {
        return Ok(());
    }
    Err(ExperimentError::new(
        at,
        format!("two {what}s have the name {name}"),
        "give each its own name",
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
