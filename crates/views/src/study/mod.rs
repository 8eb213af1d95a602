//! Experiments and studies for people: the cases, a line for each trial, and the findings.

mod case_text;
mod findings_text;
mod trial_line;

pub use case_text::case_text;
pub use findings_text::findings_text;
pub use trial_line::TrialLines;
