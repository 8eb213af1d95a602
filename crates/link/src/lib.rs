//! What a link does to frames, told the time.
//!
//! A frame goes in with its arrival time, deliveries come out with theirs. A [`Cell`](cell::Cell) has one way in and one
//! out and composes into a [`Chain`](chain::Chain); a [`Node`](node::Node) has ports and composes into a
//! [`Network`](network::Network). Time is whole nanoseconds, work is whole bits, and chance comes from a seed, so the same
//! input gives the same output to the frame on every machine. Pure: no clock, socket, file or thread.
#![forbid(unsafe_code)]

pub mod assembly;
pub mod balancer;
pub mod bucket;
pub mod cell;
pub mod chain;
pub mod codel;
pub mod corruption;
pub mod counters;
pub mod delay;
pub mod dice;
pub mod duplication;
pub mod error;
pub mod frame;
pub mod hub;
pub mod jitter;
pub mod link;
pub mod loss;
pub mod medium;
pub mod moment;
pub mod network;
pub mod node;
pub mod occupancy;
pub mod policer;
pub mod queue;
pub mod rate;
pub mod red;
pub mod reordering;
pub mod serialiser;
pub mod shaper;
pub mod switch;
pub mod waiting;
