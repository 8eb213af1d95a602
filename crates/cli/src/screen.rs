//! The terminal's whole screen: where it cannot be used.

use crate::exit::{Exit, Failure};
use caudal_top::ScreenError;

impl From<ScreenError> for Failure {
    fn from(error: ScreenError) -> Self {
        Self::new(
            Exit::Failed,
            error.to_string(),
            "leave out --top, or use `caudal report replay`",
        )
    }
}
