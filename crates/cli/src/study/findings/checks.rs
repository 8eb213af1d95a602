//! What was to hold, what others published, and what follows: each with the numbers that decide it.

use caudal_core::quantity::Unit;
use caudal_experiment::expression::{
    EvaluationError, Expression, ExpressionComparison, ExpressionName, Template, Value, metric_unit,
};
use caudal_experiment::{Case, Scalar, fill_parameters, parse_number};
use caudal_stats::Estimate;

use super::lookup::{All, View, show, with_ends};
use super::numbers::{cases_published, cases_where};
use super::{Beside, Checked, Conclusion};

/// How far a published value may be away, unless its file says.
const WITHIN: f64 = 0.05;

/// Every expectation in every case it is about.
pub(super) fn expectations(all: &All<'_>) -> Vec<Checked> {
    let mut checked = Vec::new();
    for expect in &all.campaign.experiment.expect {
        let Ok(that) = Expression::condition(&expect.that) else {
            continue;
        };
        if that.is_about_named_cases_only() && expect.when.is_none() {
            let view = all.outside();
            let case = None;
            checked.push(check(
                &view,
                &that,
                &expect.that,
                case,
                expect.because.as_ref(),
            ));
            continue;
        }
        for index in cases_where(all.campaign, expect.when.as_deref()) {
            let case = &all.campaign.cases[index];
            if expect.when.is_none() && !has_flows(case, &that) {
                continue;
            }
            let view = all.from(index);
            let because = expect.because.as_ref();
            checked.push(check(&view, &that, &expect.that, Some(case), because));
        }
    }
    checked
}

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
    view: &View<'_>,
    that: &Expression,
    written: &str,
    case: Option<&Case>,
    because: Option<&String>,
) -> Checked {
    let holds = that.holds(view);
    let mut evidence: Vec<String> = that
        .comparisons()
        .iter()
        .map(|comparison| compared(view, comparison))
        .collect();
    if evidence.is_empty() {
        evidence.push(view.with_values(that));
    }
    if let Err(EvaluationError(why)) = &holds {
        evidence = vec![why.clone()];
    }
    Checked {
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

/// Both sides of a comparison with their values, and whether the interval of what was observed leaves it open.
fn compared(view: &View<'_>, comparison: &ExpressionComparison) -> String {
    let unit = unit_of_side(view, &comparison.left).or(unit_of_side(view, &comparison.right));
    let left = side(view, &comparison.left, unit, true);
    let right = side(view, &comparison.right, unit, false);
    let sign = &comparison.operator;
    let holds = comparison.whole.holds(view);
    let sign = match (&holds, sign.as_str()) {
        (Ok(false), sign) => format!("is not {sign}"),
        (_, sign) => sign.to_owned(),
    };
    let mut text = format!("{left} {sign} {right}");
    let value = |side: &Expression| match side.evaluate(view) {
        Ok(Value::Number(value, _)) => Some(value),
        Ok(Value::Parameter(scalar)) => scalar.number(),
        _ => None,
    };
    let sides = [
        (&comparison.left, &comparison.right),
        (&comparison.right, &comparison.left),
    ];
    for (observed, other) in sides {
        if let (Some((estimate, _)), Some(other)) = (view.evidence(observed), value(other))
            && let Some(doubt) = doubt(&estimate, other, &comparison.operator)
        {
            text.push_str(doubt);
            break;
        }
    }
    text
}

/// What to doubt in a comparison of an estimate with a value.
fn doubt(estimate: &Estimate, other: f64, sign: &str) -> Option<&'static str> {
    let ordered = sign.starts_with(['<', '>']);
    if estimate.confidence == 0.0 {
        return None;
    }
    (ordered && estimate.low < other && other < estimate.high)
        .then_some(" (its interval lies on both sides)")
}

fn unit_of_side(view: &View<'_>, side: &Expression) -> Option<Unit> {
    match side.evaluate(view) {
        Ok(Value::Number(_, unit)) => unit,
        _ => None,
    }
}

/// A side in words: a metric by name with its interval, a formula with its values and what it comes to.
fn side(view: &View<'_>, side: &Expression, unit: Option<Unit>, named: bool) -> String {
    if let Some((estimate, of)) = view.evidence(side) {
        let shown = with_ends(&estimate, of);
        return if named || estimate.confidence > 0.0 {
            format!("{side} {shown}")
        } else {
            shown
        };
    }
    if let Some(value) = side.as_number() {
        return show(value, unit);
    }
    let Ok(value) = side.evaluate(view) else {
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
        return format!("{what} {}{at} ({name})", show(value, of));
    }
    let formula = view.with_values(side);
    let value = show(value, of.or(unit));
    if formula == value {
        return value;
    }
    format!("{formula} = {value}")
}

/// Every published value beside ours, case by case.
pub(super) fn published(all: &All<'_>) -> Vec<Beside> {
    let mut rows = Vec::new();
    for published in &all.campaign.experiment.published {
        let within = published
            .within
            .as_deref()
            .and_then(parse_number)
            .unwrap_or(WITHIN);
        let value = published.value.as_ref().and_then(Scalar::number);
        let unit = metric_unit(&published.metric);
        for index in cases_published(all.campaign, published) {
            let case = &all.campaign.cases[index];
            let observed = all.numbers.observed(index, &published.metric).copied();
            let pair = observed.zip(value);
            let agrees = pair.map(|(observed, value)| near(observed.mean, value, within));
            let difference = pair
                .map(|(observed, value)| observed.mean / value - 1.0)
                .filter(|difference| difference.is_finite());
            rows.push(Beside {
                case: case.key.clone(),
                metric: published.metric.clone(),
                unit: unit.map_or("", Unit::name),
                published: value,
                published_prediction: published.predicted.as_ref().and_then(Scalar::number),
                observed,
                difference,
                agrees,
                because: published
                    .because
                    .as_ref()
                    .filter(|_| agrees == Some(false))
                    .map(|because| fill_parameters(because, &case.parameters)),
            });
        }
    }
    rows
}

/// Whether ours is near to theirs; beside a published zero the tolerance is taken as it stands.
fn near(ours: f64, theirs: f64, within: f64) -> bool {
    let scale = if theirs == 0.0 { 1.0 } else { theirs.abs() };
    (ours - theirs).abs() <= within * scale
}

/// What follows from the numbers: nothing where the condition cannot be told.
pub(super) fn conclusions(all: &All<'_>) -> Vec<Conclusion> {
    let view = all.outside();
    let mut said = Vec::new();
    for conclude in &all.campaign.experiment.conclude {
        let condition = conclude.condition.as_deref().map(Expression::condition);
        let holds = match condition {
            None => Ok(true),
            Some(Ok(condition)) => condition.holds(&view),
            Some(Err(_)) => continue,
        };
        let say = match holds {
            Ok(true) => Some(&conclude.say),
            Ok(false) => conclude.otherwise.as_ref(),
            // A question that was asked is not passed over in silence.
            Err(EvaluationError(why)) => {
                if conclude.answers.is_some() {
                    said.push(Conclusion {
                        answers: conclude.answers.clone(),
                        text: format!("This cannot be told: {why}."),
                    });
                }
                continue;
            }
        };
        if let Some(Ok(template)) = say.map(|say| Template::parse(say)) {
            said.push(Conclusion {
                answers: conclude.answers.clone(),
                text: template.fill(|expression| view.say(expression)),
            });
        }
    }
    said
}
