//! Flows over a topology in virtual time: who sends what, when, and what becomes of it.
//!
//! A [`Topology`](caudal_topology::Topology) says what the network is, a [`Scenario`](scenario::Scenario) which
//! flows cross it; [`run::run`] gives an [`Outcome`](outcome::Outcome). TCP is modelled segment by segment after
//! what Linux does, without payload. Time is whole nanoseconds and chance comes from seeds, so one input gives one
//! output on every machine. Pure: no clock, socket, file or thread.
#![forbid(unsafe_code)]

mod agenda;
mod datagrams;
mod echo;
pub mod error;
mod fabric;
mod flow;
pub mod outcome;
mod packet;
pub mod run;
pub mod scenario;
mod span;
mod tally;
pub mod tcp;
