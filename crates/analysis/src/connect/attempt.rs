//! One attempt to open a connection.

use caudal_core::connect::ConnectFailure;

/// One attempt to open a connection: its times in ns, those of the steps that it completed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectAttempt {
    /// Its start, ns after the start of the test.
    pub start_ns: u64,
    /// Its end, ns after the start of the test.
    pub end_ns: u64,
    /// The time by which it began after its schedule; 0 without one.
    pub late_ns: u64,
    /// The TCP handshake: from the call of connect(2) until it returned.
    pub connect_ns: Option<u64>,
    /// The TLS handshake: from its first message until both ends have agreed.
    pub handshake_ns: Option<u64>,
    /// From the request to the first byte of the answer.
    pub first_byte_ns: Option<u64>,
    /// The reason why it was not completed.
    pub failure: Option<ConnectFailure>,
}
