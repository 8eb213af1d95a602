//! The store of runs and studies: one SQLite file that any number of processes add to. What is recorded never changes; it can be removed.
//!
//! A run is durable when [`Store::record`] returns. A process that is killed meanwhile loses the run it was recording and
//! nothing else.
#![forbid(unsafe_code)]

mod document;
mod environment;
mod error;
mod filter;
#[cfg(test)]
mod fixture;
mod headline;
mod id;
mod kind;
mod list;
mod location;
mod open;
mod outline;
mod pack;
mod record;
mod recording;
mod removal;
mod run;
mod samples;
mod schema;
mod store;
mod stored;
mod study;
mod tag;
mod writer;

pub use document::StoredDocument;
pub use error::StoreError;
pub use filter::Filter;
pub use headline::Headline;
pub use id::short_id;
pub use kind::{RunKind, UnknownRunKind};
pub use list::StoreEntry;
pub use recording::{Recording, RecordingError};
pub use removal::RemovedAmount;
pub use store::{Store, StoreSummary};
pub use stored::{SampleSeries, StoredItem, StoredRun, StoredStudy, StudyTrial};
pub use tag::{InvalidTag, MAX_TAG_LENGTH, check_tag};
