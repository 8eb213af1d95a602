//! The protocol of iperf 2: a test header in the first bytes, a report in the last datagram.
//!
//! There is no control connection: the request of a client precedes its payload, and only UDP returns
//! results. The layouts are those of iperf 2.0.5 to 2.2, as their programs put them on the wire.

mod answer;
mod bounceback;
mod burst;
mod datagram;
mod header;
mod report;

pub use answer::{ACK_BYTES, ServerAck};
pub use bounceback::{BOUNCEBACK_BYTES, Bounceback};
pub use burst::{BURST_BYTES, BurstHeader, write_burst_header};
pub use datagram::{
    FIRST_BYTES, FirstDatagram, HeaderLayout, Iperf2Datagram, LastNumber, write_datagram_header,
};
pub use header::{
    ExtensionLayout, HeaderError, HeaderExtension, MAX_KEY_BYTES, TcpOpening, TestAmount,
    TestHeader, TestMode, VERSION, add_permit_key, permit_key,
};
pub use report::{ServerReport, TransitReport};

/// The port of iperf 2, TCP and UDP.
pub const PORT: u16 = 5001;
/// Maximum length of a test header with all its parts, the key included, bytes.
pub const MAX_HEADER_BYTES: usize = 512;

/// Fills `room` with the payload of iperf 2: the repeated digits.
pub fn fill_pattern(room: &mut [u8]) {
    for (byte, digit) in room.iter_mut().zip((b'0'..=b'9').cycle()) {
        *byte = digit;
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

fn put(room: &mut [u8], at: usize, value: u32) {
    if let Some(four) = room
        .get_mut(at..)
        .and_then(|rest| rest.first_chunk_mut::<4>())
    {
        *four = value.to_be_bytes();
    }
}

fn put_half(room: &mut [u8], at: usize, value: u16) {
    if let Some(two) = room
        .get_mut(at..)
        .and_then(|rest| rest.first_chunk_mut::<2>())
    {
        *two = value.to_be_bytes();
    }
}
