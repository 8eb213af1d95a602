//! Sessions in virtual time over the links of crate link.
//!
//! `CAUDAL_RBT_RUNS` sets how many random sessions are run, `CAUDAL_RBT_SEED` the seed of the first of them: with one run, a session that
//! failed is repeated exactly.

#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod behaviour;
mod content;
mod fairness;
mod path;
mod random_sessions;
mod session;
mod terms;
mod wire_log;
