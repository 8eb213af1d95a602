//! The limits every plan keeps, whoever asks for it.

use std::time::Duration;

/// Smallest datagram that carries our header, in bytes.
pub const MIN_DATAGRAM: u32 = 32;
/// The largest UDP payload that IPv4 carries, in bytes: 65535 − 20 − 8 (RFC 768, RFC 791).
pub const MAX_DATAGRAM: u32 = 65_507;
/// Maximum number of flows in a plan, over both directions.
pub const MAX_FLOWS: u32 = 1024;
/// The largest TCP block handed over in one send, in bytes.
pub const MAX_BLOCK: u32 = 4 << 20;
/// The largest echo message, in bytes.
pub const MAX_MESSAGE: u32 = 16 << 20;
/// Maximum duration of a test.
pub const MAX_DURATION: Duration = Duration::from_secs(30 * 86_400);
/// Minimum reporting interval.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum number of intervals one test reports.
pub const MAX_INTERVALS: u64 = 1_000_000;
/// Maximum number of message sizes in an echo test.
pub const MAX_SIZES: usize = 128;
/// Maximum number of messages an echo test sends per size and client.
pub const MAX_MESSAGES: u64 = 100_000_000;
/// Maximum number of values an echo test keeps: 64 MB, of which the statistics need a few times as much.
pub const MAX_ECHO_VALUES: u64 = 8_000_000;
/// Maximum number of bytes the messages of all connections of an echo test hold at once.
pub const MAX_ECHO_BYTES: u64 = 1 << 30;
