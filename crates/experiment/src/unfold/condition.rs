//! Conditions that are known before anything is measured: which cases and flows there are.

use super::super::expression::{Expression, Scope};
use super::super::file::ExperimentFile;
use super::error::{ExperimentError, Result, element, top};
use super::matrix::Point;
use super::names::parameter_names;
use super::quick::Places;
use caudal_topology::Location;

/// Reads a condition and holds its names against those there are.
pub(super) fn condition(at: &Location, text: &str, scope: &Scope<'_>) -> Result<Expression> {
    let wrong = |error| ExperimentError::of_expression(at.clone(), error, text);
    let expression = Expression::condition(text).map_err(wrong)?;
    expression.check(scope).map_err(wrong)?;
    Ok(expression)
}

/// The names there are before anything is measured.
pub(super) fn before<'a>(parameters: &'a [&'a str]) -> Scope<'a> {
    Scope {
        parameters,
        flows: None,
        links: None,
        contention: false,
    }
}

/// Whether a condition holds at a point.
pub(super) fn holds(at: &Location, expression: &Expression, point: &Point) -> Result<bool> {
    expression.holds_for(&point.parameters).map_err(|cannot| {
        ExperimentError::new(
            at.clone(),
            format!("this cannot be told for {}: {cannot}", point.key()),
            "compare words with == and a quoted text",
        )
    })
}

/// A condition that leaves cases out, and where it stands.
pub(super) type Exclusion = (Location, Expression);

/// The conditions that leave cases out: of the file, then those that `--quick` adds.
pub(super) fn exclusions(file: &ExperimentFile, places: &Places<'_>) -> Result<Vec<Exclusion>> {
    let parameters = parameter_names(file);
    let scope = before(&parameters);
    let added = places.0.map_or(0, |quick| quick.exclude.len());
    let own = file.exclude.len() - added;
    let mut all = Vec::new();
    for (index, exclude) in file.exclude.iter().enumerate() {
        let at = if index < own {
            Location::element("exclude", index)
        } else {
            element(&top("quick").key("exclude"), index - own)
        };
        let at = at.key("when");
        let expression = condition(&at, &exclude.when, &scope)?;
        all.push((at, expression));
    }
    Ok(all)
}

/// Whether a point is left out.
pub(super) fn excluded_point(excluded: &[Exclusion], point: &Point) -> Result<bool> {
    for (at, expression) in excluded {
        if holds(at, expression, point)? {
            return Ok(true);
        }
    }
    Ok(false)
}
