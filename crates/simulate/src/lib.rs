//! Flows over a topology in virtual time.
//!
//! A [`Topology`](caudal_topology::Topology) is the network, a [`Scenario`](scenario::Scenario) the flows that cross it;
//! [`simulate`] gives a [`SimulationResult`](result::SimulationResult). TCP is modelled segment by segment after Linux,
//! without payload. Time is whole nanoseconds and random numbers come from seeds, so the same input gives the same output
//! on every machine. Pure: no clock, socket, file or thread.
#![forbid(unsafe_code)]

pub mod error;
mod event_queue;
mod flow;
mod goodput;
mod host_jitter;
mod network;
mod packet;
pub mod result;
pub mod scenario;
mod simulation;
pub mod tcp;
mod udp;

pub use simulation::simulate;
