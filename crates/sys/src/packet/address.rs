//! Packet sockets and their devices.

use std::io;

use socket2::{SockAddr, SockAddrStorage, Socket};

/// Lets a packet socket receive the frames of all protocols of the device of this index.
pub(super) fn bind_to_device(socket: &Socket, index: u32) -> io::Result<()> {
    const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();
    // `struct sockaddr_ll`: family, protocol, index, then what only senders fill.
    let mut storage = SockAddrStorage::zeroed();
    // SAFETY: the storage is as large and aligned as any socket address, and all zero is a value.
    let address = unsafe { storage.view_as::<libc::sockaddr_ll>() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ALL;
    address.sll_ifindex = index.cast_signed();
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: a `struct sockaddr_ll` of that length was just written.
    let address = unsafe { SockAddr::new(storage, length) };
    socket.bind(&address)
}

/// The kind of device a packet socket is bound to: `ARPHRD_…`, include/uapi/linux/if_arp.h.
pub(super) fn hardware_type(socket: &Socket) -> io::Result<u16> {
    let bound = socket.local_addr()?;
    // SAFETY: the kernel filled in the address of a packet socket, which is a `struct sockaddr_ll`.
    Ok(unsafe { (*bound.as_ptr().cast::<libc::sockaddr_ll>()).sll_hatype })
}
