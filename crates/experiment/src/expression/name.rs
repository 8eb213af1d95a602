//! What a formula names: parameters, metrics, other cases.

use super::node::Node;
use crate::metric::{METRICS, Metric};
use caudal_core::quantity::Unit;

/// Which value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    /// The mean over the case's trials.
    Observed,
    /// The lower end of its interval.
    Low,
    /// The upper end of its interval.
    High,
    /// That of the flow alone.
    Baseline,
    /// What the formulas give.
    Predicted,
    /// What the simulation gives.
    Simulated,
    /// What was published.
    Published,
}

impl Which {
    pub(super) const CALLS: [(&'static str, Self); 6] = [
        ("low", Self::Low),
        ("high", Self::High),
        ("baseline", Self::Baseline),
        ("predicted", Self::Predicted),
        ("simulated", Self::Simulated),
        ("published", Self::Published),
    ];

    /// The function that asks for it; `None` for what is observed, which needs none.
    #[must_use]
    pub fn call(self) -> Option<&'static str> {
        Self::CALLS
            .iter()
            .find_map(|(name, which)| (*which == self).then_some(*name))
    }
}

/// A name in an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named<'a> {
    /// A parameter.
    Parameter(&'a str),
    /// A metric of the case at hand, by its full name.
    Metric(Which, &'a str),
    /// A metric of another case.
    MetricAt(&'a str, Which, &'a str),
    /// Another case.
    Case(&'a str),
    /// The load at which starvation begins, of a group.
    Begins(Option<&'a str>),
}

impl<'a> Named<'a> {
    /// A metric of another case, or of the one at hand.
    pub(super) const fn metric(case: Option<&'a str>, which: Which, name: &'a str) -> Self {
        match case {
            None => Self::Metric(which, name),
            Some(case) => Self::MetricAt(case, which, name),
        }
    }
}

/// A metric by its full name, as `tcp.goodput`.
#[must_use]
pub fn metric_of(name: &str) -> Option<&'static Metric> {
    let (_, last) = name.rsplit_once('.')?;
    METRICS.iter().find(|metric| metric.name == last)
}

/// The unit of a metric by its full name.
#[must_use]
pub fn unit_of(name: &str) -> Option<Unit> {
    metric_of(name).map(|metric| metric.unit)
}

/// Tells `found` every name and its place in the text, in the order written.
pub(super) fn collect<'a>(
    node: &'a Node,
    case: Option<&'a str>,
    found: &mut impl FnMut(Named<'a>, usize),
) {
    match node {
        Node::Number(..) | Node::Text(_) | Node::Truth(_) => {}
        Node::Parameter(name, at) => found(Named::Parameter(name), *at),
        Node::Metric(which, name, at) => found(Named::metric(case, *which, name), *at),
        Node::BareBaseline(name, at) => found(Named::metric(case, Which::Baseline, name), *at),
        Node::At(case, inner, at) => {
            found(Named::Case(case), *at);
            collect(inner, Some(case), found);
        }
        Node::Begins(group, at) => found(Named::Begins(group.as_deref()), *at),
        Node::Negated(inner) | Node::Not(inner) => collect(inner, case, found),
        Node::Two(_, left, right) => {
            collect(left, case, found);
            collect(right, case, found);
        }
        Node::Call(_, arguments) => {
            for argument in arguments {
                collect(argument, case, found);
            }
        }
    }
}
