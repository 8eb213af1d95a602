//! `caudal pcap`: captures explained. Summary, flows, sequence diagram, graphs, and two ends of one flow compared.

mod args;
mod choice;
mod command;
mod decompressed;
mod ends;
mod pieces;
mod source;
mod write;

pub use args::PcapArgs;
pub use command::pcap;
