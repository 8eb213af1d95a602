//! The command lines and the output of iperf3, iperf 2 and nttcp, over the engine that speaks their protocols.
#![forbid(unsafe_code)]

mod background;
mod digits;
pub mod iperf2;
pub mod iperf3;
pub mod iperf3_flags;
pub mod nttcp;
pub mod option_document;
mod option_table;
mod program;
pub mod program_name;
mod recording;
