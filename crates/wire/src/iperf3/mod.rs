//! The protocol of iperf3, as traced from versions 3.1 to 3.21.
//!
//! A control connection carries a cookie, then single state bytes and JSON blocks with a length before
//! them; every TCP data connection repeats the cookie, every UDP stream begins with four bytes each way.
//! Source: the iperf3 manual, and the behaviour of the programs.

pub mod cookie;
pub mod datagram;
pub mod error;
mod lenient;
pub mod parameters;
pub mod results;
pub mod state;

pub use cookie::Cookie;
pub use error::Iperf3ErrorCode;
pub use parameters::{Parameters, TransportProtocol};
pub use results::{Results, StreamResult};
pub use state::ControlState;

/// Maximum length of a parameter block that a server reads, bytes: iperf3 itself takes 8 KiB.
pub const MAX_PARAMETERS_BYTES: usize = 16 << 10;
/// Maximum length of a results block that a server reads, bytes: 256 streams take 64 KiB.
pub const MAX_RESULTS_BYTES: usize = 256 << 10;
/// Maximum length of a results block that a client reads, bytes: it may carry all the server has printed.
pub const MAX_SERVER_RESULTS_BYTES: usize = 64 << 20;
/// Maximum number of streams in one direction, as in iperf3.
pub const MAX_STREAMS: u32 = 128;

/// The number that both ends give to the stream that was opened as number `nth`, counted from 0: 1, 3, 4, 5, …
#[must_use]
pub const fn stream_id(nth: u32) -> u32 {
    if nth == 0 { 1 } else { nth + 2 }
}

/// A JSON text with its frame: four big-endian bytes of length, then the text.
#[must_use]
pub fn frame(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(4 + json.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(json.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_numbers_skip_two() {
        let ids: Vec<u32> = (0..5).map(stream_id).collect();
        assert_eq!(ids, [1, 3, 4, 5, 6]);
    }
}
