//! The lookup of the values of names.

use super::name::MetricValue;
use super::value::EvaluationError;
use crate::scalar::Scalar;

/// The values of the names in an expression, for one case.
pub trait Lookup {
    /// A parameter of the case; `None` where the case does not have it.
    fn parameter(&self, name: &str) -> Option<Scalar>;

    /// A metric of the case by its full name, as `tcp.goodput`.
    ///
    /// # Errors
    /// The reason why there is no value.
    fn metric(&self, which: MetricValue, name: &str) -> Result<f64, EvaluationError>;

    /// Another case, by its key or name.
    ///
    /// # Errors
    /// The reason why the case is not available.
    fn case(&self, case: &str) -> Result<Box<dyn Lookup + '_>, EvaluationError>;

    /// The load at which starvation begins, of a group, or of the group that the case belongs to; infinite where it never begins.
    ///
    /// # Errors
    /// The reason why there is no value.
    fn starvation_load(&self, group: Option<&str>) -> Result<f64, EvaluationError>;
}

/// The parameters of a case before anything is measured.
pub(super) struct ParameterLookup<'a>(pub(super) &'a [(String, Scalar)]);

impl Lookup for ParameterLookup<'_> {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn metric(&self, _: MetricValue, name: &str) -> Result<f64, EvaluationError> {
        Err(EvaluationError(format!("{name} is not measured yet")))
    }

    fn case(&self, _: &str) -> Result<Box<dyn Lookup + '_>, EvaluationError> {
        Err(EvaluationError("nothing is measured yet".to_owned()))
    }

    fn starvation_load(&self, _: Option<&str>) -> Result<f64, EvaluationError> {
        Err(EvaluationError("nothing is measured yet".to_owned()))
    }
}

/// A case with a parameter of each type and a few metrics; another one is called `A`.
#[cfg(test)]
pub(super) struct TestLookup {
    pub(super) is_other_case: bool,
}

#[cfg(test)]
impl Lookup for TestLookup {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        match name {
            "load" => Some(Scalar::Text("80%".to_owned())),
            "congestion" => Some(Scalar::Text("bbr".to_owned())),
            "clients" => Some(Scalar::Integer(8)),
            "offload" => Some(Scalar::Bool(true)),
            _ => None,
        }
    }

    fn metric(&self, which: MetricValue, name: &str) -> Result<f64, EvaluationError> {
        match (which, name, self.is_other_case) {
            (MetricValue::Observed, "tcp.goodput", false) => Ok(4e5),
            (MetricValue::Low, "tcp.goodput", false) => Ok(3e5),
            (MetricValue::Baseline, "tcp.goodput", false) => Ok(235e6),
            (MetricValue::Observed, "tcp.goodput", true) => Ok(9e6),
            (MetricValue::Observed, "links.north-1.utilisation", _) => Ok(0.99),
            _ => Err(EvaluationError(format!("{name} was not measured"))),
        }
    }

    fn case(&self, case: &str) -> Result<Box<dyn Lookup + '_>, EvaluationError> {
        if case == "A" {
            return Ok(Box::new(Self {
                is_other_case: true,
            }));
        }
        Err(EvaluationError(format!("{case} has no trial yet")))
    }

    fn starvation_load(&self, _: Option<&str>) -> Result<f64, EvaluationError> {
        Ok(0.8)
    }
}
