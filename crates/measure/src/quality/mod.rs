//! Latency under load: phases without and with load, one after another.

mod assemble;
mod live_intervals;
mod measured;
mod phase_run;
mod phases;
mod request;
mod slow_link;
mod via;
mod warnings;

pub use phases::PhaseRequest;
pub use request::{QualityPhases, QualityRequest};
pub use slow_link::SlowLink;
pub use via::ViaTarget;
