//! BBR version 3: a model of the path, its bandwidth and round-trip time, instead of a window that loss halves.
//!
//! Source: draft-ietf-ccwg-bbr; names of its state variables are given where ours differ.

mod aggregation;
mod bandwidth;
mod bounds;
mod controller;
mod flight_history;
mod full_pipe;
mod loss;
mod min_rtt;
mod phase;
mod probe_bw;
mod probe_rtt;
mod rounds;
mod startup;
mod state;
mod targets;

pub use controller::BbrController;
