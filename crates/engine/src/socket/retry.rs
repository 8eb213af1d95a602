//! The errors after which a call may be made again.

use std::io;

/// `true` when a call failed only because there is nothing to read or no room to write yet, or because of a signal.
pub(crate) fn is_retryable(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// `true` when receiving from a UDP socket failed only because no datagram was there: the timeout of the wait has passed, or
/// an ICMP error reports an earlier datagram as undeliverable.
pub(crate) fn is_no_datagram(cause: &io::Error) -> bool {
    is_retryable(cause)
        || matches!(
            cause.kind(),
            io::ErrorKind::TimedOut | io::ErrorKind::ConnectionRefused
        )
}
