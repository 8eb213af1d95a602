//! The failure of a plan's check, as the command reports it.

use crate::exit::Failure;
use crate::flag::flag;
use caudal_core::plan::PlanError;

/// The failure of a plan's check, with the flag that is out of range.
#[must_use]
pub fn plan_failure(error: &PlanError) -> Failure {
    Failure::usage(
        format!(
            "{} is {}; {}",
            flag(error.quantity),
            error.value,
            error.allowed
        ),
        "see --help",
    )
}
