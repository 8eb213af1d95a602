//! The connection to rtnetlink.

use std::ffi::c_int;
use std::io;

use super::socket::NetlinkSocket;

/// A connection to rtnetlink, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink(NetlinkSocket);

impl Netlink {
    /// A connection to the namespace of the calling thread.
    ///
    /// # Errors
    /// Any error of socket(2).
    pub fn open() -> io::Result<Self> {
        NetlinkSocket::open(libc::NETLINK_ROUTE).map(Self)
    }

    /// Sends one request and returns the replies, each without its `struct nlmsghdr`.
    pub(crate) fn request(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.request(kind, flags, body)
    }

    /// Sends one request for a change and waits for its acknowledgement.
    pub(super) fn request_change(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<()> {
        self.request(kind, flags | libc::NLM_F_ACK, body).map(drop)
    }
}
