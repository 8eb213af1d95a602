//! Conditions on parameters, which decide which cases and flows there are.

use super::check_names::parameter_names;
use super::error::{ExperimentError, Result, element, top};
use super::key_locations::KeyLocations;
use super::matrix::Point;
use crate::expression::{Expression, Scope};
use crate::file::ExperimentFile;
use caudal_topology::Location;

/// Parses a condition and checks its names.
pub(super) fn condition(at: &Location, text: &str, scope: &Scope<'_>) -> Result<Expression> {
    let located = |error| ExperimentError::from_expression(at.clone(), error, text);
    let expression = Expression::condition(text).map_err(located)?;
    expression.check(scope).map_err(located)?;
    Ok(expression)
}

/// The scope of conditions on parameters alone.
pub(super) fn parameter_scope<'a>(parameters: &'a [&'a str]) -> Scope<'a> {
    Scope {
        parameters,
        flows: None,
        links: None,
        contention: false,
    }
}

/// `true` when a condition holds at a point.
pub(super) fn holds(at: &Location, expression: &Expression, point: &Point) -> Result<bool> {
    expression.holds_for(&point.parameters).map_err(|error| {
        ExperimentError::new(
            at.clone(),
            format!("this cannot be evaluated for {}: {error}", point.key()),
            "compare words with == and a quoted text",
        )
    })
}

/// A condition that excludes cases, with its location.
pub(super) type Exclusion = (Location, Expression);

/// The conditions that exclude cases: of the file, then those added by `--quick`.
pub(super) fn exclusions(
    file: &ExperimentFile,
    locations: &KeyLocations<'_>,
) -> Result<Vec<Exclusion>> {
    let parameters = parameter_names(file);
    let scope = parameter_scope(&parameters);
    let added = locations.0.map_or(0, |quick| quick.exclude.len());
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

/// `true` when a point is excluded.
pub(super) fn is_excluded(excluded: &[Exclusion], point: &Point) -> Result<bool> {
    for (at, expression) in excluded {
        if holds(at, expression, point)? {
            return Ok(true);
        }
    }
    Ok(false)
}
