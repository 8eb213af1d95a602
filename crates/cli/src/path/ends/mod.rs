//! What both ends of a path measure together, where a server of caudal runs at the other.

mod ends_run;
mod measure;
mod peer;
mod settings;

pub(super) use ends_run::EndsRun;
pub(super) use measure::{EndsScope, measure};
pub(super) use peer::connect;
