//! Expectations, checked in every case, with the values that decide them.

use caudal_core::quantity::Unit;
use caudal_stats::{Estimate, IntervalMethod};
use serde::{Deserialize, Serialize};

use super::format::{format_estimate_ends, format_value};
use super::lookup::{CaseLookup, StudyLookup};
use crate::case::Case;
use crate::expression::{EvaluationError, Expression, ExpressionComparison, ExpressionName, Value};
use crate::unfold::fill_parameters;

use super::case_findings::cases_where;

/// An expectation, checked in one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckedExpectation {
    /// The condition as the experiment writes it.
    pub that: String,
    /// The case; absent for a condition on the whole study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The reason why it should hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// `true` when it holds; absent where it cannot be evaluated.
    pub holds: Option<bool>,
    /// Both sides with their values and units and whether the interval of one includes the other, or the reason why the condition cannot be
    /// evaluated.
    pub evidence: String,
}

/// Checks every expectation in every case that it is about.
pub(super) fn check_expectations(study: &StudyLookup<'_>) -> Vec<CheckedExpectation> {
    let mut checked = Vec::new();
    for expect in &study.campaign.experiment.expect {
        let Ok(that) = Expression::condition(&expect.that) else {
            continue;
        };
        if that.is_about_named_cases_only() && expect.when.is_none() {
            let lookup = study.outside_cases();
            let case = None;
            checked.push(check(
                &lookup,
                &that,
                &expect.that,
                case,
                expect.because.as_ref(),
            ));
            continue;
        }
        for index in cases_where(study.campaign, expect.when.as_deref()) {
            let case = &study.campaign.cases[index];
            if expect.when.is_none() && !has_flows(case, &that) {
                continue;
            }
            let lookup = study.in_case(index);
            let because = expect.because.as_ref();
            checked.push(check(&lookup, &that, &expect.that, Some(case), because));
        }
    }
    checked
}

/// `true` when a case has all flows whose metrics the expression names.
fn has_flows(case: &Case, that: &Expression) -> bool {
    that.names().iter().all(|name| match name {
        ExpressionName::Metric(_, metric) => {
            let flow = metric.split('.').next().unwrap_or_default();
            matches!(flow, "total" | "links") || case.flows.iter().any(|known| known.name == flow)
        }
        _ => true,
    })
}

fn check(
    lookup: &CaseLookup<'_>,
    that: &Expression,
    written: &str,
    case: Option<&Case>,
    because: Option<&String>,
) -> CheckedExpectation {
    let holds = that.holds(lookup);
    let mut evidence: Vec<String> = that
        .comparisons()
        .iter()
        .map(|comparison| describe_comparison(lookup, comparison))
        .collect();
    if evidence.is_empty() {
        evidence.push(lookup.with_values(that));
    }
    if let Err(EvaluationError(why)) = &holds {
        evidence = vec![why.clone()];
    }
    CheckedExpectation {
        that: written.to_owned(),
        case: case.map(|case| case.key.clone()),
        because: because.map(|because| {
            let parameters = case.map_or(&[][..], |case| &case.parameters);
            fill_parameters(because, parameters)
        }),
        holds: holds.ok(),
        evidence: evidence.join("; "),
    }
}

/// Both sides of a comparison with their values, and a note where the interval of the observed one includes the other.
fn describe_comparison(lookup: &CaseLookup<'_>, comparison: &ExpressionComparison) -> String {
    let unit = unit_of_side(lookup, &comparison.left).or(unit_of_side(lookup, &comparison.right));
    let left = describe_side(lookup, &comparison.left, unit, true);
    let right = describe_side(lookup, &comparison.right, unit, false);
    let sign = &comparison.operator;
    let holds = comparison.whole.holds(lookup);
    let sign = match (&holds, sign.as_str()) {
        (Ok(false), sign) => format!("is not {sign}"),
        (_, sign) => sign.to_owned(),
    };
    let mut text = format!("{left} {sign} {right}");
    let value = |side: &Expression| match side.evaluate(lookup) {
        Ok(Value::Number(value, _)) => Some(value),
        Ok(Value::Parameter(scalar)) => scalar.number(),
        _ => None,
    };
    let sides = [
        (&comparison.left, &comparison.right),
        (&comparison.right, &comparison.left),
    ];
    for (observed, other) in sides {
        if let (Some((estimate, _)), Some(other)) = (lookup.evidence(observed), value(other))
            && let Some(note) = interval_note(&estimate, other, &comparison.operator)
        {
            text.push_str(note);
            break;
        }
    }
    text
}

/// The note on a comparison of an estimate with a value that its interval includes.
fn interval_note(estimate: &Estimate, other: f64, sign: &str) -> Option<&'static str> {
    let ordered = sign.starts_with(['<', '>']);
    let note = match estimate.method {
        IntervalMethod::SingleValue => return None,
        IntervalMethod::Range => " (between its minimum and maximum)",
        IntervalMethod::ErrorBound => " (between its bounds)",
        _ => " (within its interval)",
    };
    (ordered && estimate.low < other && other < estimate.high).then_some(note)
}

fn unit_of_side(lookup: &CaseLookup<'_>, side: &Expression) -> Option<Unit> {
    match side.evaluate(lookup) {
        Ok(Value::Number(_, unit)) => unit,
        _ => None,
    }
}

/// One side of a comparison: a metric by its name with its interval, a formula with its values and its result.
fn describe_side(
    lookup: &CaseLookup<'_>,
    side: &Expression,
    unit: Option<Unit>,
    named: bool,
) -> String {
    if let Some((estimate, of)) = lookup.evidence(side) {
        let shown = format_estimate_ends(&estimate, of);
        return if named || estimate.method != IntervalMethod::SingleValue {
            format!("{side} {shown}")
        } else {
            shown
        };
    }
    if let Some(value) = side.as_number() {
        return format_value(value, unit);
    }
    let Ok(value) = side.evaluate(lookup) else {
        return side.to_string();
    };
    let Value::Number(value, of) = value else {
        let value = value.to_string();
        let written = side.to_string();
        let quoted = written.trim_matches(['"', '\'']) == value;
        return if quoted {
            value
        } else {
            format!("{written} {value}")
        };
    };
    if let Some((at, which, name)) = side.as_metric() {
        let what = which.function().unwrap_or_default();
        let at = at.map(|at| format!(" of {at}")).unwrap_or_default();
        return format!("{what} {}{at} ({name})", format_value(value, of));
    }
    let formula = lookup.with_values(side);
    let value = format_value(value, of.or(unit));
    if formula == value {
        return value;
    }
    format!("{formula} = {value}")
}
