//! The summary of a bulk transfer: totals and estimates for each direction, its bottleneck, and warnings.

mod ceiling;
mod context;
mod datagrams;
mod goodput;
mod host_drops;
mod levels;
mod limits;
mod loss_structure;
mod other_traffic;
mod rate_sample;
mod recovery;
mod repeats;
mod summarise;
mod warnings;
mod window;

pub use context::Context;
pub use repeats::over_repeats;
pub use summarise::{BulkSummary, summarise};
