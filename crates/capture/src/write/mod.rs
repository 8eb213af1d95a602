//! pcapng as bytes, for those who capture.

mod encoder;

pub use encoder::{InterfaceDescription, InterfaceStatistics, PcapngEncoder, WrittenFrame};
