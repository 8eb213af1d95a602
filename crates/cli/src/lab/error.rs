//! Errors of labs as failures of the command line.

use crate::exit::{Exit, Failure};
use caudal_lab::LabError;

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_usage() {
            Exit::Usage
        } else {
            Exit::NotPermitted
        };
        let text = error.to_string();
        let (message, advice) = text.split_once("; ").unwrap_or((&text, ""));
        let advice = match &error {
            LabError::NameTaken { name } => {
                format!("take it down with `caudal lab down {name}`, or name this one with --name")
            }
            LabError::NoLab => "start one with `caudal lab up pair`".to_owned(),
            LabError::Ambiguous { up } => format!("name one with --lab: {}", up.join(", ")),
            LabError::NotResponding { name, .. } => format!("run `caudal lab down {name}`"),
            _ => advice.to_owned(),
        };
        Self::new(exit, message, advice)
    }
}
