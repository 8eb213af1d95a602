//! The series of a sweep.

use super::parameter::{SweptParameter, parameter_value, varied_parameters};
use crate::export::figures::by_case::metrics::cases_with_metric;
use crate::export::wording;
use caudal_experiment::findings::{CaseFindings, MetricFindings};

/// One series of a sweep: the points of cases that differ in the swept parameter alone.
pub struct SweptSeries<'a> {
    pub name: String,
    pub metric: String,
    /// The places on the axis of the parameter, ascending, and the findings there.
    pub points: Vec<(f64, &'a MetricFindings)>,
}

impl SweptSeries<'_> {
    /// The places on the axis and the observed means, where there are some.
    pub fn observed(&self) -> Vec<(f64, f64)> {
        self.points
            .iter()
            .filter_map(|(at, known)| Some((*at, known.observed?.mean)))
            .collect()
    }
}

/// The series of those metrics that have a unit; the parameter `by` comes first in their names.
pub fn swept_series<'a>(
    parameter: &SweptParameter<'_>,
    by: Option<&str>,
    unit: &str,
    metrics: &[String],
    cases: &[&'a CaseFindings],
) -> Vec<SweptSeries<'a>> {
    let mut others = varied_parameters(cases);
    others.retain(|name| *name != parameter.name);
    others.sort_by_key(|name| Some(*name) != by);
    let mut series: Vec<SweptSeries<'_>> = Vec::new();
    for metric in metrics {
        for (case, known) in cases_with_metric(cases, metric) {
            if known.unit != unit {
                continue;
            }
            let Some(at) = parameter.position(case) else {
                continue;
            };
            let name = series_name(case, &others, metric, metrics.len() > 1);
            match series
                .iter_mut()
                .find(|one| one.name == name && one.metric == *metric)
            {
                Some(one) => one.points.push((at, known)),
                None => series.push(SweptSeries {
                    name,
                    metric: metric.clone(),
                    points: vec![(at, known)],
                }),
            }
        }
    }
    for one in &mut series {
        one.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    series
}

/// The name of a series: the values of the other parameters, after the metric where there are several or nothing else.
fn series_name(
    case: &CaseFindings,
    others: &[&str],
    metric: &str,
    several_metrics: bool,
) -> String {
    let mut parts: Vec<String> = others
        .iter()
        .filter_map(|name| Some(parameter_value(case, name)?.to_string()))
        .collect();
    if several_metrics || parts.is_empty() {
        parts.insert(0, wording::metric(metric));
    }
    parts.join(", ")
}
