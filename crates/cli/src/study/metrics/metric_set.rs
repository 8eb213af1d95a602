//! The metrics of a trial by their full names.

use std::collections::BTreeMap;

/// The metrics of one flow, link or of all flows, which are added to those of the trial.
pub(super) struct FlowMetrics<'a> {
    /// The first part of the full name: that of the flow.
    subject: String,
    all: &'a mut BTreeMap<String, f64>,
}

impl<'a> FlowMetrics<'a> {
    pub(super) const fn new(subject: String, all: &'a mut BTreeMap<String, f64>) -> Self {
        Self { subject, all }
    }

    /// Adds a metric; one without a finite value is left out.
    pub(super) fn put(&mut self, metric: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.all.insert(format!("{}.{metric}", self.subject), value);
        }
    }
}

/// `part / whole`; `None` where either is missing or `whole` is not positive.
pub(super) fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0.0).then(|| part / whole)
}
