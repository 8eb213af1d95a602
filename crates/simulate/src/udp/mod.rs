//! UDP: sources, fragmentation, sinks.

mod fragmentation;
mod sink;
mod source;

pub(crate) use fragmentation::{Fragmentation, Reassembly};
pub(crate) use sink::DatagramSink;
pub(crate) use source::DatagramSource;
