//! The points of the matrix: every combination of parameter values.

use std::collections::{BTreeSet, HashSet};

use super::check_names::parameter_names;
use super::error::{ExperimentError, Result, no_parameter, same_key, top};
use super::key_locations::KeyLocations;
use crate::campaign::MAX_CASES;
use crate::file::{CaseFile, ExperimentFile};
use crate::scalar::Scalar;
use caudal_topology::Location;

/// Maximum number of combinations before exclusion.
const MAX_COMBINATIONS: u128 = 100_000;

/// A point of the matrix.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) parameters: Vec<(String, Scalar)>,
    /// The parameters set by the named case, which are not in the key.
    set: BTreeSet<String>,
}

impl Point {
    pub(super) fn key(&self) -> String {
        let varied = self
            .parameters
            .iter()
            .filter(|(name, _)| !self.set.contains(name))
            .map(|(name, value)| format!("{name}={value}"));
        let words: Vec<String> = self.name.iter().cloned().chain(varied).collect();
        if words.is_empty() {
            return "all".to_owned();
        }
        words.join(" ")
    }
}

/// Every combination, the excluded ones included: named cases in the order of the file, the last parameter fastest.
pub(super) fn points(file: &ExperimentFile, locations: &KeyLocations<'_>) -> Result<Vec<Point>> {
    check_values(file, locations)?;
    let unnamed = [CaseFile::default()];
    let cases: &[CaseFile] = if file.case.is_empty() {
        &unnamed
    } else {
        &file.case
    };
    check_number_of_combinations(file, cases)?;
    let mut points = Vec::new();
    for case in cases {
        points.extend(points_of_case(file, case));
    }
    let mut keys = HashSet::new();
    for point in &points {
        let key = point.key();
        if !keys.insert(key.clone()) {
            return Err(same_key(&key));
        }
    }
    Ok(points)
}

/// Checks the values of the parameters.
fn check_values(file: &ExperimentFile, locations: &KeyLocations<'_>) -> Result<()> {
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = locations.values(index, &parameter.name);
        let mut seen = HashSet::new();
        for value in &parameter.values {
            check_value(&at, &parameter.name, value)?;
            if !seen.insert(value.to_string()) {
                return Err(ExperimentError::new(
                    at,
                    format!("{} has the value {value} twice", parameter.name),
                    "remove one",
                ));
            }
        }
    }
    Ok(())
}

/// Checks what the cases set, and counts the combinations before any is built, in numbers that cannot overflow.
fn check_number_of_combinations(file: &ExperimentFile, cases: &[CaseFile]) -> Result<()> {
    let mut total = 0_u128;
    for (index, case) in cases.iter().enumerate() {
        let at = Location::element("case", index).key("set");
        for (name, value) in &case.set {
            if !file
                .parameter
                .iter()
                .any(|parameter| parameter.name == *name)
            {
                return Err(no_parameter(at.key(name), name, parameter_names(file)));
            }
            check_value(&at.key(name), name, value)?;
        }
        total = total.saturating_add(combinations(file, case)?);
    }
    if total > MAX_COMBINATIONS {
        return Err(ExperimentError::new(
            top("parameter"),
            format!("the matrix has {total} cases, and at most {MAX_CASES} are possible"),
            "remove values, or name the important cases with [[case]]",
        ));
    }
    Ok(())
}

/// The number of combinations of the parameters that a case does not set.
fn combinations(file: &ExperimentFile, case: &CaseFile) -> Result<u128> {
    let mut combinations = 1_u128;
    for (number, parameter) in file.parameter.iter().enumerate() {
        if case.set.contains_key(&parameter.name) {
            continue;
        }
        if parameter.values.is_empty() {
            let problem = if file.case.is_empty() {
                format!("parameter {} has no values", parameter.name)
            } else {
                format!(
                    "case {} does not set {}, which has no values",
                    case.name, parameter.name
                )
            };
            return Err(ExperimentError::new(
                Location::element("parameter", number),
                problem,
                "give it values, or set it in every case",
            ));
        }
        combinations = combinations.saturating_mul(parameter.values.len() as u128);
    }
    Ok(combinations)
}

/// The points of a case: every combination of the parameters that it does not set.
fn points_of_case(file: &ExperimentFile, case: &CaseFile) -> impl Iterator<Item = Point> {
    let mut prefixes = vec![Vec::new()];
    for parameter in &file.parameter {
        let values = match case.set.get(&parameter.name) {
            Some(value) => std::slice::from_ref(value),
            None => parameter.values.as_slice(),
        };
        let extend = |prefix: &Vec<(String, Scalar)>| {
            let prefix = prefix.clone();
            values.iter().map(move |value| {
                let mut point = prefix.clone();
                point.push((parameter.name.clone(), value.clone()));
                point
            })
        };
        prefixes = prefixes.iter().flat_map(extend).collect();
    }
    let is_named = !case.name.is_empty();
    prefixes.into_iter().map(move |parameters| Point {
        name: is_named.then(|| case.name.clone()),
        title: case.title.clone(),
        parameters,
        set: case.set.keys().cloned().collect(),
    })
}

fn check_value(at: &Location, name: &str, value: &Scalar) -> Result<()> {
    let problem = match value {
        Scalar::Text(text) if text.trim() != text || text.is_empty() => {
            "is empty or has surrounding blanks"
        }
        Scalar::Text(text) if text.len() > 256 => "is longer than 256 bytes",
        Scalar::Text(text) if text.contains(['{', '}']) => "contains a brace",
        Scalar::Text(text) if text.contains(char::is_control) => "is not one line",
        Scalar::Number(number) if !number.is_finite() => "is not a finite number",
        _ => return Ok(()),
    };
    Err(ExperimentError::new(
        at.clone(),
        format!("value {value:?} of {name} {problem}")
            .replace("Text(", "")
            .replace("\")", "\""),
        "write a number or a word, as 50M, 80% or bbr",
    ))
}
