//! Blocks of JSON on the control connection: their frame, and how long each may be.

/// Maximum length of a parameter block that a server reads, bytes: iperf3 itself takes 8 KiB.
pub const MAX_PARAMETERS_BYTES: usize = 16 << 10;
/// Maximum length of a results block that a server reads, bytes: 256 streams take 64 KiB.
pub const MAX_RESULTS_BYTES: usize = 256 << 10;
/// Maximum length of a results block that a client reads, bytes: it may carry all the server has printed.
pub const MAX_SERVER_RESULTS_BYTES: usize = 64 << 20;

/// A JSON text with its frame: four big-endian bytes of length, then the text.
#[must_use]
pub fn frame(json: &str) -> Vec<u8> {
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(4 + json.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(json.as_bytes());
    bytes
}
