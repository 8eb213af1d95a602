//! Recorded runs and studies as they are listed and shown one by one: text, and JSON documents.

mod entries;
mod run;
mod study;

pub use entries::{entry_lines, entry_result, list_document};
pub use run::run_lines;
pub use study::{study_document, study_lines};
