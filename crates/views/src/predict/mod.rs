//! Predictions as people and programs read them: tables in 80 columns, the arithmetic, JSON, comma-separated values, and a figure.

mod csv;
mod document;
mod figure;
mod sweep_table;
mod table;
mod text;
mod topology_document;
mod topology_text;

pub use csv::{PredictionRow, evaluation_rows, prediction_rows};
pub use document::evaluation_document;
pub use figure::sweep_figure;
pub use text::{Arithmetic, evaluation_lines};
pub use topology_document::topology_document;
pub use topology_text::topology_lines;
