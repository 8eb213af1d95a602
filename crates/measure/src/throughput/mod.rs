//! Bulk transfers, once, several times, or in search of the highest rate.

mod goodputs;
mod measure;
mod rate_search;
mod recorder;
mod request;
mod run_set;

pub use goodputs::DirectionGoodputs;
pub use measure::ThroughputRequest;
pub use rate_search::RateSearchRequest;
pub use request::{BulkRequest, DatagramLength, MAX_RUNS, Repetitions, UdpRequest};
