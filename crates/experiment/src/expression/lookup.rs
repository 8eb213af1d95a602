//! Where the values of a formula's names come from.

use super::name::Which;
use super::value::CannotTell;
use crate::scalar::Scalar;

/// Where the values of an expression's names come from.
pub trait Lookup {
    /// A parameter of the case; `None` where the case does not have it.
    fn parameter(&self, name: &str) -> Option<Scalar>;

    /// A metric of the case by its full name, as `tcp.goodput`.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn metric(&self, which: Which, name: &str) -> Result<f64, CannotTell>;

    /// Another case, by its key or name.
    ///
    /// # Errors
    /// Why it cannot be told which.
    fn elsewhere(&self, case: &str) -> Result<Box<dyn Lookup + '_>, CannotTell>;

    /// The load at which starvation begins, of a group, or of the one the case belongs to; infinite where it never does.
    ///
    /// # Errors
    /// Why it cannot be told.
    fn begins(&self, group: Option<&str>) -> Result<f64, CannotTell>;
}

/// The parameters of a case before anything is measured.
pub(super) struct OnlyParameters<'a>(pub(super) &'a [(String, Scalar)]);

impl Lookup for OnlyParameters<'_> {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    fn metric(&self, _: Which, name: &str) -> Result<f64, CannotTell> {
        Err(CannotTell(format!("{name} is not measured yet")))
    }

    fn elsewhere(&self, _: &str) -> Result<Box<dyn Lookup + '_>, CannotTell> {
        Err(CannotTell("nothing is measured yet".to_owned()))
    }

    fn begins(&self, _: Option<&str>) -> Result<f64, CannotTell> {
        Err(CannotTell("nothing is measured yet".to_owned()))
    }
}

/// A case with a parameter of each sort and a few metrics; another called `A`.
#[cfg(test)]
pub(super) struct Here {
    pub(super) elsewhere: bool,
}

#[cfg(test)]
impl Lookup for Here {
    fn parameter(&self, name: &str) -> Option<Scalar> {
        match name {
            "load" => Some(Scalar::Text("80%".to_owned())),
            "congestion" => Some(Scalar::Text("bbr".to_owned())),
            "clients" => Some(Scalar::Whole(8)),
            "offload" => Some(Scalar::Truth(true)),
            _ => None,
        }
    }

    fn metric(&self, which: Which, name: &str) -> Result<f64, CannotTell> {
        match (which, name, self.elsewhere) {
            (Which::Observed, "tcp.goodput", false) => Ok(4e5),
            (Which::Low, "tcp.goodput", false) => Ok(3e5),
            (Which::Baseline, "tcp.goodput", false) => Ok(235e6),
            (Which::Observed, "tcp.goodput", true) => Ok(9e6),
            (Which::Observed, "links.north-1.utilisation", _) => Ok(0.99),
            _ => Err(CannotTell(format!("{name} was not measured"))),
        }
    }

    fn elsewhere(&self, case: &str) -> Result<Box<dyn Lookup + '_>, CannotTell> {
        if case == "A" {
            return Ok(Box::new(Self { elsewhere: true }));
        }
        Err(CannotTell(format!("{case} has no trial yet")))
    }

    fn begins(&self, _: Option<&str>) -> Result<f64, CannotTell> {
        Ok(0.8)
    }
}
