//! Reports of recorded runs and studies: logs of other tools become runs ([`import`]), two sides are compared
//! ([`compare`]), and runs and studies become files for others ([`export`]).
#![forbid(unsafe_code)]

pub mod compare;
mod document;
pub mod export;
pub mod import;
mod list;
mod quantile;
mod round_trip_series;
mod size_results;
mod timeline;

pub use document::{RunDocument, UnreadableTrial};
pub use list::{
    LIST_COLUMNS, campaign_cases, conclusion_sentences, entries_as_csv, verdict_sentences,
};
