//! Recorded runs and studies as files for others: HTML, Markdown, CSV, JSON and SVG.

mod both_ends_section;
mod capture_section;
mod export_error;
mod export_format;
mod figures;
mod html;
pub(crate) mod markdown;
pub(crate) mod page;
mod path_section;
mod quality_section;
mod run_page;
mod sheet;
mod stored_study;
mod stored_subject;
mod study_page;
mod subject;
mod transfer_section;
mod trial_findings;
mod values;
mod window_sentences;
mod wording;

pub use export_error::ExportError;
pub use export_format::ExportFormat;
pub use stored_subject::StoredSubject;
pub use subject::{
    ExportFile, ExportSubject, FIGURES_DIRECTORY, FINDINGS_FILE, REPORT_FILE, RUN_FILE,
    SampleSource,
};
pub use values::VALUE_COLUMNS;
