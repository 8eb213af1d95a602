//! Where the names of a study's expressions get their values.

use caudal_core::quantity::Unit;
use caudal_experiment::expression::{
    EvaluationError, Expression, ExpressionName, Lookup, MetricValue, Value, find_metric,
    metric_unit,
};
use caudal_experiment::{Campaign, Metric, Scalar};
use caudal_stats::Estimate;

use super::Starvation;
use super::numbers::Numbers;

/// A study's numbers, to be asked from any of its cases or from none.
#[derive(Clone, Copy)]
pub(super) struct All<'a> {
    pub campaign: &'a Campaign,
    pub numbers: &'a Numbers,
    pub contention: &'a [Starvation],
}

/// A study seen from one of its cases, or from outside all.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub all: All<'a>,
    pub case: Option<usize>,
}

impl<'a> All<'a> {
    pub const fn from(self, case: usize) -> View<'a> {
        View {
            all: self,
            case: Some(case),
        }
    }

    /// From outside all cases; where there is only one, from that.
    pub fn outside(self) -> View<'a> {
        let mut measured = (0..self.campaign.cases.len())
            .filter(|index| self.campaign.cases[*index].alone.is_none());
        let only = measured.next().filter(|_| measured.next().is_none());
        View {
            all: self,
            case: only,
        }
    }
}

fn cannot<T>(why: impl Into<String>) -> Result<T, EvaluationError> {
    Err(EvaluationError(why.into()))
}

impl<'a> View<'a> {
    fn key(&self) -> &'a str {
        self.case.map_or("the study", |case| {
            self.all.campaign.cases[case].key.as_str()
        })
    }

    /// The case that a text names; of several the one that is most like this.
    pub fn resolve(&self, text: &str) -> Result<usize, EvaluationError> {
        let mut named = self.all.campaign.find_cases(text);
        if named.len() > 1
            && let Some(here) = self.case
        {
            let cases = &self.all.campaign.cases;
            let alike = |index: usize| {
                let there = &cases[index].parameters;
                let same = |parameter: &&(String, Scalar)| there.contains(parameter);
                cases[here].parameters.iter().filter(same).count()
            };
            let most = named.iter().map(|index| alike(*index)).max();
            named.retain(|index| Some(alike(*index)) == most);
        }
        match named.as_slice() {
            [one] => Ok(*one),
            [] => cannot(format!("case {text} is not in this study")),
            several => cannot(format!("{text} names {} cases", several.len())),
        }
    }

    /// What was observed, with its interval.
    pub fn observed(&self, metric: &str) -> Result<&'a Estimate, EvaluationError> {
        let Some(case) = self.case else {
            return cannot(format!("{metric} needs a case: at(\"…\", {metric})"));
        };
        let found = &self.all.numbers.cases[case];
        match self.all.numbers.observed(case, metric) {
            Some(estimate) => Ok(estimate),
            None if found.n == 0 => cannot(format!("{} has no trial yet", found.key)),
            None => cannot(format!("{metric} could not be told in {}", found.key)),
        }
    }

    /// The estimate behind an expression that is nothing but an observed metric.
    pub fn estimate(&self, expression: &Expression) -> Option<(&'a Estimate, Option<Unit>)> {
        let (at, which, name) = expression.as_metric()?;
        if which != MetricValue::Observed {
            return None;
        }
        let view = match at {
            None => *self,
            Some(case) => self.all.from(self.resolve(case).ok()?),
        };
        Some((view.observed(name).ok()?, metric_unit(name)))
    }

    /// The same with its interval as far as the metric can be: evidence for or against something.
    pub fn evidence(&self, expression: &Expression) -> Option<(Estimate, Option<Unit>)> {
        let (estimate, unit) = self.estimate(expression)?;
        let (_, _, name) = expression.as_metric()?;
        let range = find_metric(name).map(Metric::range);
        Some((
            range.map_or(*estimate, |range| estimate.clamped_to(range)),
            unit,
        ))
    }

    /// An expression with the values of its metrics in place of their names.
    pub fn with_values(&self, expression: &Expression) -> String {
        let metric = |view: Option<View<'_>>, which, name: &str| {
            let value = view?.metric(which, name).ok()?;
            Some(show(value, metric_unit(name)))
        };
        expression.display_with(&|named| match named {
            ExpressionName::Metric(which, name) => metric(Some(*self), which, name),
            ExpressionName::MetricAt(case, which, name) => {
                let there = self.resolve(case).ok().map(|case| self.all.from(case));
                metric(there, which, name)
            }
            ExpressionName::Parameter(name) => self.parameter(name).map(|value| value.to_string()),
            ExpressionName::StarvationLoad(group) => Some(self.begins_shown(group)),
            ExpressionName::Case(_) => None,
        })
    }

    /// The load at which starvation begins, as written in the file.
    fn begins_shown(&self, group: Option<&str>) -> String {
        let Ok(found) = self.starvation(group) else {
            return "unknown".to_owned();
        };
        match self.starvation_load(group) {
            Ok(load) if load.is_infinite() => "never".to_owned(),
            Ok(load) => found
                .steps
                .iter()
                .find(|step| step.value == load)
                .map_or_else(|| load.to_string(), |step| step.load.clone()),
            Err(_) => "unknown".to_owned(),
        }
    }

    fn starvation(&self, group: Option<&str>) -> Result<&'a Starvation, EvaluationError> {
        let groups = self.all.contention;
        let words = |text: &str| {
            text.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let found: Vec<&Starvation> = match (group, self.case) {
            (Some(group), _) => groups
                .iter()
                .filter(|known| {
                    let there = words(&known.group);
                    known.group == group || words(group).iter().all(|word| there.contains(word))
                })
                .collect(),
            (None, Some(_)) if groups.len() > 1 => {
                let here = self.key();
                let holds = |known: &&Starvation| known.steps.iter().any(|step| step.case == here);
                groups.iter().filter(holds).collect()
            }
            (None, _) => groups.iter().collect(),
        };
        match found.as_slice() {
            [one] => Ok(one),
            [] => cannot(format!(
                "there is no group {:?} of loads",
                group.unwrap_or_default()
            )),
            several => cannot(format!(
                "starvation is told for {} groups; name one, as begins({:?})",
                several.len(),
                several[0].group
            )),
        }
    }

    /// What stands in a sentence for an expression: its value with its unit, and how well it is known.
    pub fn say(&self, expression: &Expression) -> String {
        if let Some((estimate, unit)) = self.estimate(expression) {
            return with_interval(estimate, unit);
        }
        if matches!(
            expression.names().as_slice(),
            [ExpressionName::StarvationLoad(_)]
        ) && let [ExpressionName::StarvationLoad(group)] = expression.names().as_slice()
            && expression.to_string().starts_with("begins(")
            && expression.comparisons().is_empty()
        {
            return self.begins_shown(*group);
        }
        match expression.evaluate(self) {
            Ok(Value::Number(value, unit)) => show(value, unit),
            Ok(value) => value.to_string(),
            Err(EvaluationError(why)) => format!("(unknown: {why})"),
        }
    }
}

impl Lookup for View<'_> {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        let parameters = &self.all.campaign.cases[self.case?].parameters;
        let found = parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn metric(&self, which: MetricValue, name: &str) -> Result<f64, EvaluationError> {
        match which {
            MetricValue::Observed => return self.observed(name).map(|estimate| estimate.mean),
            MetricValue::Low | MetricValue::High => {
                let estimate = self.observed(name)?;
                if estimate.confidence == 0.0 {
                    return cannot(format!(
                        "{name} was measured once in {}, which gives no interval",
                        self.key()
                    ));
                }
                return Ok(match which {
                    MetricValue::Low => estimate.low,
                    _ => estimate.high,
                });
            }
            _ => {}
        }
        let Some(case) = self.case else {
            return cannot(format!("{name} needs a case: at(\"…\", {name})"));
        };
        if which == MetricValue::Baseline {
            let flow = name.split('.').next().unwrap_or_default();
            let of = &self.all.campaign.cases[case];
            let key = match (of.baselines.get(flow), &of.alone) {
                (Some(key), _) => key,
                // What is alone is its own baseline.
                (None, Some(alone)) if alone == flow => &of.key,
                _ => return cannot(format!("{flow} has no solo baseline in {}", self.key())),
            };
            let index = self
                .all
                .campaign
                .cases
                .iter()
                .position(|case| case.key == *key);
            let Some(index) = index else {
                return cannot(format!("{key} is not in this study"));
            };
            return self
                .all
                .from(index)
                .observed(name)
                .map(|estimate| estimate.mean);
        }
        let metric = self.all.numbers.cases[case].metrics.get(name);
        let (value, what) = match which {
            MetricValue::Predicted => (metric.and_then(|metric| metric.predicted), "predicted"),
            MetricValue::Simulated => (metric.and_then(|metric| metric.simulated), "simulated"),
            _ => (metric.and_then(|metric| metric.published), "published"),
        };
        value.map_or_else(
            || cannot(format!("nothing is {what} of {name} in {}", self.key())),
            Ok,
        )
    }

    fn case(&self, case: &str) -> Result<Box<dyn Lookup + '_>, EvaluationError> {
        self.resolve(case)
            .map(|case| Box::new(self.all.from(case)) as Box<dyn Lookup>)
    }

    fn starvation_load(&self, group: Option<&str>) -> Result<f64, EvaluationError> {
        let found = self.starvation(group)?;
        if let Some(load) = found.begins {
            return Ok(load);
        }
        if !found.steps.is_empty() && found.steps.iter().all(|step| step.starves == Some(false)) {
            return Ok(f64::INFINITY);
        }
        cannot("at some load it cannot be told whether it starves")
    }
}

/// A value with its unit, in three or four digits.
pub(super) fn show(value: f64, unit: Option<Unit>) -> String {
    unit.map_or_else(
        || caudal_core::quantity::short(value),
        |unit| unit.show(value),
    )
}

/// A mean with its unit, and half the width of its interval where it has one.
pub(super) fn with_interval(estimate: &Estimate, unit: Option<Unit>) -> String {
    let mean = show(estimate.mean, unit);
    if estimate.confidence == 0.0 {
        return mean;
    }
    format!("{mean} ± {}", show(estimate.half_width(), unit))
}

/// A mean with its unit and the ends of its interval, as evidence.
pub(super) fn with_ends(estimate: &Estimate, unit: Option<Unit>) -> String {
    let mean = show(estimate.mean, unit);
    if estimate.confidence == 0.0 {
        return mean;
    }
    let (low, high) = (show(estimate.low, unit), show(estimate.high, unit));
    // The unit is said once where it is the same.
    let behind = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let low = match behind(&low) {
        Some(unit) if Some(&unit) == behind(&high).as_ref() => {
            low.trim_end_matches(&unit).trim_end().to_owned()
        }
        _ => low,
    };
    format!("{mean} ({low} to {high})")
}
