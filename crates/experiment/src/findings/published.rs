//! Published values beside those observed.

use caudal_core::quantity::Unit;
use caudal_stats::Estimate;
use serde::{Deserialize, Serialize};

use super::case_findings::cases_published;
use super::format::{UnitName, unit_name};
use super::lookup::StudyLookup;
use crate::expression::metric_unit;
use crate::scalar::{Scalar, parse_number};
use crate::unfold::fill_parameters;

/// The default tolerance of a published value, relative to it.
const TOLERANCE: f64 = 0.05;

/// A published value beside the one observed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PublishedComparison {
    /// The case.
    pub case: String,
    /// The full name of the metric.
    pub metric: String,
    /// Its base unit; empty for a metric that this program does not know.
    #[serde(deserialize_with = "unit_name")]
    pub unit: UnitName,
    /// The published value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<f64>,
    /// The prediction in the same publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published_prediction: Option<f64>,
    /// The value observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Estimate>,
    /// The value observed over the published one, minus 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// `true` when the value observed agrees within the tolerance; absent where either is missing.
    pub agrees: Option<bool>,
    /// The reason why it differs, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Compares every published value in every case that it is about.
pub(super) fn compare_published(study: &StudyLookup<'_>) -> Vec<PublishedComparison> {
    let mut rows = Vec::new();
    for published in &study.campaign.experiment.published {
        let within = published
            .within
            .as_deref()
            .and_then(parse_number)
            .unwrap_or(TOLERANCE);
        let value = published.value.as_ref().and_then(Scalar::number);
        let unit = metric_unit(&published.metric);
        for index in cases_published(study.campaign, published) {
            let case = &study.campaign.cases[index];
            let observed = study.cases[index].observed(&published.metric).copied();
            let pair = observed.zip(value);
            let agrees = pair.map(|(observed, value)| agrees(observed.mean, value, within));
            let difference = pair
                .map(|(observed, value)| observed.mean / value - 1.0)
                .filter(|difference| difference.is_finite());
            rows.push(PublishedComparison {
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

/// `true` when a value agrees with a published one within a relative tolerance, which is absolute for a published zero.
fn agrees(observed: f64, published: f64, within: f64) -> bool {
    let scale = if published == 0.0 {
        1.0
    } else {
        published.abs()
    };
    (observed - published).abs() <= within * scale
}
