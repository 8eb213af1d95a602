//! File transfers: once each, or several times in blocks of random order.

mod assemble;
mod block_order;
mod campaign;
mod divide;
mod file_cell;
mod file_content;
mod measure;
mod prepared_contents;
mod request;
mod runner;
mod transfer_measured;
mod warnings;

pub use campaign::TransferPlace;
pub use file_cell::FileCell;
pub use file_content::FileContent;
pub use measure::{MeasuredTransfers, RunPart};
pub use request::{FileDestination, FileRequest};
