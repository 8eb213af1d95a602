//! The arithmetic of file transfers: what a transfer, a cell and a comparison of cells add up to.

mod cell_report;
mod file_report;
mod summary;

pub use file_report::file_report;
pub use summary::TransferEnds;
