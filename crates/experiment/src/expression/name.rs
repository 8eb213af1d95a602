//! The names in an expression: parameters, metrics, other cases.

use crate::metric::{METRICS, Metric};
use caudal_core::quantity::Unit;

/// The value of a metric that a name refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MetricValue {
    /// The mean over the case's trials.
    Observed,
    /// The lower end of its interval.
    Low,
    /// The upper end of its interval.
    High,
    /// The value of the flow alone.
    Baseline,
    /// The value predicted by formula.
    Predicted,
    /// The simulated value.
    Simulated,
    /// The published value.
    Published,
}

impl MetricValue {
    pub(super) const FUNCTIONS: [(&'static str, Self); 6] = [
        ("low", Self::Low),
        ("high", Self::High),
        ("baseline", Self::Baseline),
        ("predicted", Self::Predicted),
        ("simulated", Self::Simulated),
        ("published", Self::Published),
    ];

    /// The function that selects it; `None` for the observed value, which needs none.
    #[must_use]
    pub fn function(self) -> Option<&'static str> {
        Self::FUNCTIONS
            .iter()
            .find_map(|(name, value)| (*value == self).then_some(*name))
    }
}

/// A name in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpressionName<'a> {
    /// A parameter.
    Parameter(&'a str),
    /// A metric of this case, by its full name.
    Metric(MetricValue, &'a str),
    /// A metric of another case.
    MetricAt(&'a str, MetricValue, &'a str),
    /// Another case.
    Case(&'a str),
    /// The load at which starvation begins, of a group.
    StarvationLoad(Option<&'a str>),
}

impl<'a> ExpressionName<'a> {
    /// A metric of another case, or of this one.
    pub(super) const fn metric(case: Option<&'a str>, value: MetricValue, name: &'a str) -> Self {
        match case {
            None => Self::Metric(value, name),
            Some(case) => Self::MetricAt(case, value, name),
        }
    }
}

/// A metric by its full name, as `tcp.goodput`.
#[must_use]
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    let (_, last) = name.rsplit_once('.')?;
    METRICS.iter().find(|metric| metric.name == last)
}

/// The unit of a metric by its full name.
#[must_use]
pub fn metric_unit(name: &str) -> Option<Unit> {
    find_metric(name).map(|metric| metric.unit)
}
