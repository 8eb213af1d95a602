//! The points of the matrix: every combination of what the parameters may be.

use std::collections::{BTreeSet, HashSet};

use super::super::campaign::MOST_CASES;
use super::super::file::{CaseFile, ExperimentFile};
use super::super::scalar::Scalar;
use super::error::{ExperimentError, Result, no_parameter, same_key, top};
use super::names::parameter_names;
use super::quick::Places;
use caudal_topology::Location;

/// The most combinations that are gone through before some are excluded.
const MOST_COMBINATIONS: u128 = 100_000;

/// A point of the matrix.
#[derive(Debug, Clone)]
pub(super) struct Point {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) parameters: Vec<(String, Scalar)>,
    /// What the named case sets, which is not in its key.
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

/// Whether `text` names the case with this key, name and parameters: its key, its name, or words `parameter=value`, alone or
/// behind the name.
pub(in super::super) fn describes(
    text: &str,
    key: &str,
    name: Option<&str>,
    parameters: &[(String, Scalar)],
) -> bool {
    if text == key || name == Some(text) {
        return true;
    }
    let words = match name.and_then(|name| text.strip_prefix(name)) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest,
        _ => text,
    };
    let mut any = false;
    words.split_whitespace().all(|word| {
        any = true;
        word.split_once('=').is_some_and(|(parameter, value)| {
            parameters
                .iter()
                .any(|(known, as_written)| known == parameter && as_written.to_string() == value)
        })
    }) && any
}

/// Every combination, the excluded ones among them: named cases in the order of the file, the last parameter fastest.
pub(super) fn points(file: &ExperimentFile, places: &Places<'_>) -> Result<Vec<Point>> {
    for (index, parameter) in file.parameter.iter().enumerate() {
        let at = places.values(index, &parameter.name);
        let mut seen = HashSet::new();
        for value in &parameter.values {
            value_fits(&at, &parameter.name, value)?;
            if !seen.insert(value.to_string()) {
                return Err(ExperimentError::new(
                    at,
                    format!("{} has the value {value} twice", parameter.name),
                    "leave one out",
                ));
            }
        }
    }
    let nameless = [CaseFile::default()];
    let cases: &[CaseFile] = if file.case.is_empty() {
        &nameless
    } else {
        &file.case
    };
    // Counted before anything is built, in numbers that cannot overflow.
    let mut all = 0_u128;
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
            value_fits(&at.key(name), name, value)?;
        }
        let mut combinations = 1_u128;
        for (number, parameter) in file.parameter.iter().enumerate() {
            if case.set.contains_key(&parameter.name) {
                continue;
            }
            if parameter.values.is_empty() {
                let (at, problem) = if file.case.is_empty() {
                    let at = Location::element("parameter", number);
                    (at, format!("parameter {} has no values", parameter.name))
                } else {
                    let problem = format!(
                        "case {} does not set {}, which has no values",
                        case.name, parameter.name
                    );
                    (at, problem)
                };
                return Err(ExperimentError::new(
                    at,
                    problem,
                    "give it values, or set it in every case",
                ));
            }
            combinations = combinations.saturating_mul(parameter.values.len() as u128);
        }
        all = all.saturating_add(combinations);
    }
    if all > MOST_COMBINATIONS {
        return Err(ExperimentError::new(
            top("parameter"),
            format!("the matrix has {all} cases, and at most {MOST_CASES} can be carried out"),
            "leave values out, or name the cases that matter with [[case]]",
        ));
    }
    let mut points = Vec::new();
    for case in cases {
        let mut begun = vec![Vec::new()];
        for parameter in &file.parameter {
            let values = match case.set.get(&parameter.name) {
                Some(value) => std::slice::from_ref(value),
                None => parameter.values.as_slice(),
            };
            let longer = |begun: &Vec<(String, Scalar)>| {
                let begun = begun.clone();
                values.iter().map(move |value| {
                    let mut point = begun.clone();
                    point.push((parameter.name.clone(), value.clone()));
                    point
                })
            };
            begun = begun.iter().flat_map(longer).collect();
        }
        let named = !case.name.is_empty();
        points.extend(begun.into_iter().map(|parameters| Point {
            name: named.then(|| case.name.clone()),
            title: case.title.clone(),
            parameters,
            set: case.set.keys().cloned().collect(),
        }));
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

fn value_fits(at: &Location, name: &str, value: &Scalar) -> Result<()> {
    let problem = match value {
        Scalar::Text(text) if text.trim() != text || text.is_empty() => {
            "is empty or has blanks around it"
        }
        Scalar::Text(text) if text.len() > 256 => "is longer than 256 bytes",
        Scalar::Text(text) if text.contains(['{', '}']) => "holds a brace",
        Scalar::Text(text) if text.contains(char::is_control) => "is not one line",
        Scalar::Number(number) if !number.is_finite() => "is no finite number",
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
