//! Recorded runs and studies as files for others: HTML, Markdown, CSV, JSON and SVG.

mod capture_section;
pub(crate) mod figures;
mod headline;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod page;
mod run_page;
mod sheet;
mod stored_study;
mod stored_subject;
mod study_page;
mod subject;
mod trial_findings;
pub(crate) mod value_table;
mod values;
pub(crate) mod window_sentences;
pub(crate) mod wording;

pub use stored_study::ExportError;
pub use stored_subject::StoredSubject;
pub use subject::{
    ExportFile, ExportFormat, ExportSubject, FIGURES_DIRECTORY, FINDINGS_FILE, REPORT_FILE,
    RUN_FILE, SampleSource,
};
pub use value_table::ValueRow;
