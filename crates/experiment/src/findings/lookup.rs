//! The values of the names in the expressions of a study.

use caudal_core::quantity::Unit;
use caudal_stats::{Estimate, IntervalMethod};

use super::case_findings::CaseFindings;
use super::format::{format_estimate, format_value};
use super::starvation::Starvation;
use crate::campaign::Campaign;
use crate::expression::{
    EvaluationError, Expression, ExpressionName, Lookup, MetricValue, Value, find_metric,
    metric_unit,
};
use crate::metric::Metric;
use crate::scalar::Scalar;

/// The values of a study.
#[derive(Clone, Copy)]
pub(super) struct StudyLookup<'a> {
    pub campaign: &'a Campaign,
    pub cases: &'a [CaseFindings],
    pub starvation: &'a [Starvation],
}

/// The values of a study for the expressions of one of its cases, or of none.
#[derive(Clone, Copy)]
pub(super) struct CaseLookup<'a> {
    pub study: StudyLookup<'a>,
    pub case: Option<usize>,
}

impl<'a> StudyLookup<'a> {
    /// For the expressions of a case.
    pub const fn in_case(self, case: usize) -> CaseLookup<'a> {
        CaseLookup {
            study: self,
            case: Some(case),
        }
    }

    /// For expressions of no case; of the only case where there is one.
    pub fn outside_cases(self) -> CaseLookup<'a> {
        let mut measured = (0..self.campaign.cases.len())
            .filter(|index| self.campaign.cases[*index].alone.is_none());
        let only = measured.next().filter(|_| measured.next().is_none());
        CaseLookup {
            study: self,
            case: only,
        }
    }
}

fn cannot<T>(why: impl Into<String>) -> Result<T, EvaluationError> {
    Err(EvaluationError(why.into()))
}

impl<'a> CaseLookup<'a> {
    fn key(&self) -> &'a str {
        self.case.map_or("the study", |case| {
            self.study.campaign.cases[case].key.as_str()
        })
    }

    /// The case that a text names; of several, the one that has most parameters in common with this one.
    pub fn resolve(&self, text: &str) -> Result<usize, EvaluationError> {
        let mut named = self.study.campaign.find_cases(text);
        if named.len() > 1
            && let Some(here) = self.case
        {
            let cases = &self.study.campaign.cases;
            let in_common = |index: usize| {
                let there = &cases[index].parameters;
                let same = |parameter: &&(String, Scalar)| there.contains(parameter);
                cases[here].parameters.iter().filter(same).count()
            };
            let most = named.iter().map(|index| in_common(*index)).max();
            named.retain(|index| Some(in_common(*index)) == most);
        }
        match named.as_slice() {
            [one] => Ok(*one),
            [] => cannot(format!("case {text} is not in this study")),
            several => cannot(format!("{text} names {} cases", several.len())),
        }
    }

    /// The estimate of a metric.
    pub fn observed(&self, metric: &str) -> Result<&'a Estimate, EvaluationError> {
        let Some(case) = self.case else {
            return cannot(format!("{metric} needs a case: at(\"…\", {metric})"));
        };
        let found = &self.study.cases[case];
        match found.observed(metric) {
            Some(estimate) => Ok(estimate),
            None if found.n == 0 => cannot(format!("{} has no trial yet", found.key)),
            None => cannot(format!("{metric} was not measured in {}", found.key)),
        }
    }

    /// The estimate of an expression that is only an observed metric.
    pub fn estimate(&self, expression: &Expression) -> Option<(&'a Estimate, Option<Unit>)> {
        let (at, which, name) = expression.as_metric()?;
        if which != MetricValue::Observed {
            return None;
        }
        let lookup = match at {
            None => *self,
            Some(case) => self.study.in_case(self.resolve(case).ok()?),
        };
        Some((lookup.observed(name).ok()?, metric_unit(name)))
    }

    /// The same with its interval limited to the possible range of the metric.
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
        let metric = |lookup: Option<CaseLookup<'_>>, which, name: &str| {
            let value = lookup?.metric(which, name).ok()?;
            Some(format_value(value, metric_unit(name)))
        };
        expression.display_with(&|named| match named {
            ExpressionName::Metric(which, name) => metric(Some(*self), which, name),
            ExpressionName::MetricAt(case, which, name) => {
                let there = self.resolve(case).ok().map(|case| self.study.in_case(case));
                metric(there, which, name)
            }
            ExpressionName::Parameter(name) => self.parameter(name).map(|value| value.to_string()),
            ExpressionName::StarvationLoad(group) => Some(self.display_starvation_load(group)),
            ExpressionName::Case(_) => None,
        })
    }

    /// The load at which starvation begins, as written in the file.
    fn display_starvation_load(&self, group: Option<&str>) -> String {
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
        let groups = self.study.starvation;
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
                "there are {} groups of loads; name one, as begins({:?})",
                several.len(),
                several[0].group
            )),
        }
    }

    /// An expression in a sentence: its value with its unit and half the width of its interval.
    pub fn display(&self, expression: &Expression) -> String {
        if let Some((estimate, unit)) = self.estimate(expression) {
            return format_estimate(estimate, unit);
        }
        if matches!(
            expression.names().as_slice(),
            [ExpressionName::StarvationLoad(_)]
        ) && let [ExpressionName::StarvationLoad(group)] = expression.names().as_slice()
            && expression.to_string().starts_with("begins(")
            && expression.comparisons().is_empty()
        {
            return self.display_starvation_load(*group);
        }
        match expression.evaluate(self) {
            Ok(Value::Number(value, unit)) => format_value(value, unit),
            Ok(value) => value.to_string(),
            Err(EvaluationError(why)) => format!("(unknown: {why})"),
        }
    }
}

impl Lookup for CaseLookup<'_> {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        let parameters = &self.study.campaign.cases[self.case?].parameters;
        let found = parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn metric(&self, which: MetricValue, name: &str) -> Result<f64, EvaluationError> {
        match which {
            MetricValue::Observed => return self.observed(name).map(|estimate| estimate.mean),
            MetricValue::Low | MetricValue::High => {
                let estimate = self.observed(name)?;
                if estimate.method == IntervalMethod::SingleValue {
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
            let of = &self.study.campaign.cases[case];
            let key = match (of.baselines.get(flow), &of.alone) {
                (Some(key), _) => key,
                // What is alone is its own baseline.
                (None, Some(alone)) if alone == flow => &of.key,
                _ => return cannot(format!("{flow} has no solo baseline in {}", self.key())),
            };
            let index = self
                .study
                .campaign
                .cases
                .iter()
                .position(|case| case.key == *key);
            let Some(index) = index else {
                return cannot(format!("{key} is not in this study"));
            };
            return self
                .study
                .in_case(index)
                .observed(name)
                .map(|estimate| estimate.mean);
        }
        let metric = self.study.cases[case].metrics.get(name);
        let (value, what) = match which {
            MetricValue::Predicted => (metric.and_then(|metric| metric.predicted), "predicted"),
            MetricValue::Simulated => (metric.and_then(|metric| metric.simulated), "simulated"),
            _ => (metric.and_then(|metric| metric.published), "published"),
        };
        value.map_or_else(
            || cannot(format!("{name} has no {what} value in {}", self.key())),
            Ok,
        )
    }

    fn case(&self, case: &str) -> Result<Box<dyn Lookup + '_>, EvaluationError> {
        self.resolve(case)
            .map(|case| Box::new(self.study.in_case(case)) as Box<dyn Lookup>)
    }

    fn starvation_load(&self, group: Option<&str>) -> Result<f64, EvaluationError> {
        let found = self.starvation(group)?;
        if let Some(load) = found.begins {
            return Ok(load);
        }
        if !found.steps.is_empty() && found.steps.iter().all(|step| step.starves == Some(false)) {
            return Ok(f64::INFINITY);
        }
        cannot("at some load it is uncertain whether it starves")
    }
}
