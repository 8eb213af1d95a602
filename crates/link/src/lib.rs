//! The effects of links, switches and shared media on frames, in virtual time.
//!
//! A frame goes in with its arrival time, and frames come out with theirs. A [`Stage`](stage::Stage) has one input and one
//! output; stages in series are a [`Pipeline`](pipeline::Pipeline). A [`NetworkNode`](node::NetworkNode) has ports; nodes
//! are connected in a [`NodeGraph`](graph::NodeGraph). A [`NetworkModel`](model::NetworkModel) is a topology built of these.
//! Time is whole nanoseconds, work is whole bits, and random numbers come from a seed, so the same input gives the same
//! output, frame by frame, on every machine. Pure: no clock, socket, file or thread.
#![forbid(unsafe_code)]

pub mod balancer;
pub mod bucket;
pub mod checksum;
pub mod codel;
pub mod corruption;
pub mod counters;
pub mod delay;
pub mod dual_queue;
pub mod duplication;
mod ecn;
pub mod error;
pub mod frame;
pub mod full_duplex_link;
pub mod graph;
pub mod histogram;
pub mod hub;
pub mod jitter;
pub mod lab_report;
pub mod loss;
pub mod medium;
pub mod model;
pub mod node;
pub mod occupancy;
pub mod pipeline;
pub mod policer;
pub mod probability;
pub mod queue;
pub mod random;
pub mod rate;
pub mod red;
pub mod reordering;
pub mod report;
pub mod segmentation;
pub mod serialiser;
pub mod shaper;
pub mod stage;
pub mod super_frame;
pub mod switch;
pub mod time;
