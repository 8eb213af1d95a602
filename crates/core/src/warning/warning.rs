//! A doubt about a finished run.

use super::code::WarningCode;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A doubt about a finished run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warning {
    /// The stable name of the doubt, for programs.
    pub code: WarningCode,
    /// The doubt in words, with the figures of this run.
    pub message: ExternalText,
    /// The remedy, as text.
    pub remedy: ExternalText,
}

impl Warning {
    /// A warning with the usual remedy of its code.
    #[must_use]
    pub fn new(code: WarningCode, message: impl Into<ExternalText>) -> Self {
        Self {
            remedy: code.remedy().into(),
            code,
            message: message.into(),
        }
    }

    /// The same with a remedy of its own.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<ExternalText>) -> Self {
        self.remedy = remedy.into();
        self
    }
}
