//! Reports of recorded runs and studies: two sides are compared ([`compare`]), and runs and studies become files for others
//! ([`export`]).
#![forbid(unsafe_code)]

mod bulk;
mod check;
pub mod compare;
mod connect;
mod document;
pub mod export;
mod file;
mod kind_report;
mod kinds;
mod list;
mod path;
mod quality;
mod round_trip_series;
mod rtt;
mod size_results;
mod stamp;
pub mod stored_text;
mod timeline;

pub use document::{RunDocument, UnreadableTrial, stored_import};
pub use list::{LIST_COLUMNS, entries_as_csv};
