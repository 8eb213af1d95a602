//! The errors after which a call may be made again.

use std::io;

/// `true` when a call failed only because there is nothing to read or no room to write yet, or because of a signal.
pub fn is_retryable(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// `true` when receiving from a UDP socket failed only because no datagram was there: the timeout of the wait has passed, or
/// an ICMP error reports an earlier datagram as undeliverable, or as too large for the path.
pub fn is_no_datagram(cause: &io::Error) -> bool {
    is_retryable(cause)
        || matches!(
            cause.kind(),
            io::ErrorKind::TimedOut | io::ErrorKind::ConnectionRefused
        )
        || is_too_large(cause)
}

/// `true` when a datagram is larger than the path carries: the one that is to be sent, or an earlier one of which a router reported it. In
/// the latter case the kernel knows the path MTU from now on, and fragments what is sent again.
pub fn is_too_large(cause: &io::Error) -> bool {
    cause.raw_os_error() == Some(libc::EMSGSIZE)
}
