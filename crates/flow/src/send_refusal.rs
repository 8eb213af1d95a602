//! Errors of a send that concern the datagrams of one call: the next ones may leave.

use std::io;

/// A refusal of this host's kernel to send the datagrams of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendRefusal {
    /// A firewall of this host dropped them: `EPERM`, which netfilter returns for `NF_DROP` in its output hooks, or `EACCES`, for
    /// a route that prohibits them.
    Forbidden,
    /// There was no room or memory for them, or an earlier datagram came back as undeliverable.
    Other,
}

impl SendRefusal {
    /// The refusal that an error of a stream of datagrams is; `None` for one that concerns the socket.
    pub(crate) fn of_datagram(cause: &io::Error) -> Option<Self> {
        match cause.raw_os_error()? {
            libc::EAGAIN
            | libc::ECONNREFUSED
            | libc::ENETUNREACH
            | libc::EHOSTUNREACH
            | libc::ENETDOWN => Some(Self::Other),
            _ => Self::of_message(cause),
        }
    }

    /// The refusal that an error of a message is whose reply is waited for: what comes back as undeliverable is no refusal.
    pub(crate) fn of_message(cause: &io::Error) -> Option<Self> {
        match cause.raw_os_error()? {
            libc::EPERM | libc::EACCES => Some(Self::Forbidden),
            libc::EAGAIN | libc::EINTR | libc::ENOBUFS | libc::ENOMEM => Some(Self::Other),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firewall_is_told_from_a_full_queue_and_from_an_error_of_the_socket() {
        let of = |code| {
            let cause = io::Error::from_raw_os_error(code);
            [
                SendRefusal::of_datagram(&cause),
                SendRefusal::of_message(&cause),
            ]
        };
        let (forbidden, other) = (Some(SendRefusal::Forbidden), Some(SendRefusal::Other));
        assert_eq!(of(libc::EPERM), [forbidden, forbidden]);
        assert_eq!(of(libc::ENOBUFS), [other, other]);
        assert_eq!(of(libc::ECONNREFUSED), [other, None]);
        assert_eq!(of(libc::EBADF), [None, None]);
    }

    #[test]
    fn a_limit_of_this_program_is_no_refusal_of_the_kernel() {
        let limit = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(SendRefusal::of_datagram(&limit), None);
    }
}
