//! Predictions as people and programs read them: tables in 80 columns, the arithmetic, JSON, CSV, and a figure.

mod columns;
mod csv;
mod figure;
mod json;
mod sweep_table;
mod table;
mod text;
mod write;

pub use csv::PredictionRow;
pub(super) use csv::prediction_rows;
pub(super) use json::SCHEMA;
pub(super) use table::table;
pub(super) use text::{HINT, explanation};
pub(super) use write::{write_evaluation, write_formats};
