//! The echo test's far side: every message goes back whole.

use crate::error::RunError;
use crate::session::Visit;
use caudal_core::plan::EchoPlan;

/// Serves one echo test.
pub(crate) fn serve(_visit: &mut Visit<'_>, _plan: EchoPlan) -> Result<(), RunError> {
    Err(RunError::Protocol("not yet".to_owned()))
}
