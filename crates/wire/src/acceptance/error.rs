//! A change to an offered plan that a server may not make, and the checks that plans of all kinds share.

use caudal_core::plan::{Quantity, Rate};
use caudal_core::units::format_duration;
use std::time::Duration;

/// A change to an offered plan that a server may not make.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptanceError {
    /// A quantity that may only become smaller is larger than offered.
    #[error("{quantity} was offered as {offered}, and it accepted {accepted}")]
    Larger {
        /// The quantity.
        quantity: Quantity,
        /// The value offered.
        offered: String,
        /// The value accepted.
        accepted: String,
    },
    /// Something that stays as it was offered is different.
    #[error("it accepted another {0} than was offered")]
    Different(&'static str),
}

/// Checks a duration, which may become shorter.
pub(super) fn check_duration(offered: Duration, accepted: Duration) -> Result<(), AcceptanceError> {
    if accepted <= offered {
        return Ok(());
    }
    Err(AcceptanceError::Larger {
        quantity: Quantity::Duration,
        offered: format_duration(offered),
        accepted: format_duration(accepted),
    })
}

/// Checks a rate, which may become lower.
pub(super) fn check_rate(offered: Rate, accepted: Rate) -> Result<(), AcceptanceError> {
    let is_larger = match (offered, accepted) {
        (Rate::Max, _) => false,
        (Rate::Limit(_), Rate::Max) => true,
        (Rate::Limit(offered), Rate::Limit(accepted)) => accepted > offered,
    };
    if !is_larger {
        return Ok(());
    }
    let text = |rate: Rate| match rate {
        Rate::Max => "no limit".to_owned(),
        Rate::Limit(rate) => rate.to_string(),
    };
    Err(AcceptanceError::Larger {
        quantity: Quantity::Rate,
        offered: text(offered),
        accepted: text(accepted),
    })
}

/// Checks something that stays as it was offered.
pub(super) fn same<T: PartialEq>(
    what: &'static str,
    offered: &T,
    accepted: &T,
) -> Result<(), AcceptanceError> {
    if offered == accepted {
        Ok(())
    } else {
        Err(AcceptanceError::Different(what))
    }
}
