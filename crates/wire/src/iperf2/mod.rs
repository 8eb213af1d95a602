//! The protocol of iperf 2: a test header in the first bytes, a report in the last datagram.
//!
//! There is no control connection: the request of a client precedes its payload, and only UDP returns
//! results. The layouts are those of iperf 2.0.5 to 2.2, as their programs put them on the wire.

mod answer;
mod bounceback;
mod burst;
mod datagram;
mod field;
mod header;
mod report;

pub use answer::{ACK_BYTES, ServerAck};
pub use bounceback::{BOUNCEBACK_BYTES, Bounceback};
pub use burst::{BURST_BYTES, BurstHeader, write_burst_header};
pub use datagram::{
    FIRST_BYTES, FirstDatagram, HeaderLayout, Iperf2Datagram, LastNumber, write_datagram_header,
};
pub use field::fill_pattern;
pub use header::{
    ExtensionLayout, HeaderError, HeaderExtension, MAX_HEADER_BYTES, MAX_KEY_BYTES, PORT,
    TcpOpening, TestAmount, TestHeader, TestMode, VERSION, add_permit_key, permit_key,
};
pub use report::{ServerReport, TransitReport};
