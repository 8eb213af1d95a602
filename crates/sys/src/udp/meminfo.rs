//! The kernel memory of a socket: `SO_MEMINFO`.

use std::os::fd::AsFd;

use crate::raw;

/// The kernel memory of a socket, in bytes. Source: `SK_MEMINFO_*`, linux/sock_diag.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemInfo {
    /// Received and not read yet.
    pub rmem_alloc: u32,
    /// The limit of `rmem_alloc`.
    pub rcvbuf: u32,
    /// Handed to the network and not released yet.
    pub wmem_alloc: u32,
    /// The limit of `wmem_alloc`.
    pub sndbuf: u32,
    /// Reserved for further data.
    pub fwd_alloc: u32,
    /// Waiting to be sent.
    pub wmem_queued: u32,
    /// Used by options and filters.
    pub optmem: u32,
    /// Received while the socket was locked.
    pub backlog: u32,
    /// Packets, not bytes, dropped so far. Wraps at 2³².
    pub drops: u32,
}

/// The present memory of a socket; `None` before Linux 4.12.
pub fn meminfo(socket: impl AsFd) -> Option<MemInfo> {
    let mut bytes = [0; 9 * size_of::<u32>()];
    let filled = raw::get_option(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut bytes).ok()?;
    let at = |index| raw::u32_at(&bytes[..filled], index * size_of::<u32>());
    Some(MemInfo {
        rmem_alloc: at(0)?,
        rcvbuf: at(1)?,
        wmem_alloc: at(2)?,
        sndbuf: at(3)?,
        fwd_alloc: at(4)?,
        wmem_queued: at(5)?,
        optmem: at(6)?,
        backlog: at(7)?,
        drops: at(8)?,
    })
}
