//! File transfers: what each end counted, and what the transfers of a command add up to.

mod cell;
mod cell_report;
mod end;
mod file_report;
mod goal;
mod ratio;
mod record;
mod refused;
mod summary;

pub use cell::TransferCell;
pub use cell_report::{TransferCellReport, TransferHalves};
pub use end::{TransferEnd, TransferProgress};
pub use file_report::{FileReport, FileResult, TransferRun};
pub use goal::TransferGoal;
pub use ratio::TransferRatio;
pub use record::TransferRecord;
pub use refused::{RefusedFile, RefusedFiles};
pub use summary::{TransferSummary, TransferTimes};
