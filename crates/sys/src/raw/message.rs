//! Messages with control data: sendmsg(2) and recvmsg(2).

use std::ffi::c_int;
use std::io::{self, IoSlice};
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use socket2::{MsgHdr, SockAddr, SockRef};

use super::address::SockaddrBuffer;
use super::control::{ControlBuffer, ControlMessages};
use super::result::count;

/// A `struct msghdr` with nothing in it.
pub(crate) fn empty_message() -> libc::msghdr {
    // SAFETY: every field is a number or a pointer, for which all zero bits are a value.
    unsafe { mem::zeroed() }
}

/// Sends `payload` with the single control message `kind` of `level`, without raising `SIGPIPE`.
pub(crate) fn send_with_control(
    socket: impl AsFd,
    payload: &[u8],
    level: c_int,
    kind: c_int,
    data: &[u8],
) -> io::Result<usize> {
    send_with_controls(socket, payload, &[(level, kind, data)], None)
}

/// Sends `payload`, to `destination` where the socket is not connected, with these control messages, each of a level, a kind and data.
pub(crate) fn send_with_controls(
    socket: impl AsFd,
    payload: &[u8],
    controls: &[(c_int, c_int, &[u8])],
    destination: Option<&SockAddr>,
) -> io::Result<usize> {
    let (control, filled) = ControlBuffer::several(controls);
    let buffers = [IoSlice::new(payload)];
    let mut message = MsgHdr::new()
        .with_buffers(&buffers)
        .with_control(control.as_bytes(filled));
    if let Some(destination) = destination {
        message = message.with_addr(destination);
    }
    SockRef::from(&socket).sendmsg(&message, libc::MSG_NOSIGNAL)
}

/// A message that [`receive_with_control`] received, without its payload.
pub(crate) struct ReceivedMessage {
    /// The length of the payload, bytes.
    pub(crate) length: usize,
    /// The source address, where the socket reports it.
    pub(crate) source: Option<SocketAddr>,
    control: ControlBuffer,
    control_length: usize,
}

impl ReceivedMessage {
    /// The control messages received with it.
    pub(crate) fn control(&self) -> ControlMessages<'_> {
        self.control.messages(self.control_length)
    }
}

/// Receives one message with its source and its control data.
pub(crate) fn receive_with_control(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: c_int,
) -> io::Result<ReceivedMessage> {
    let mut address = SockaddrBuffer::default();
    let mut control = ControlBuffer::empty();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut message = empty_message();
    message.msg_name = address.as_mut_ptr();
    message.msg_namelen = SockaddrBuffer::LENGTH as libc::socklen_t;
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr();
    message.msg_controllen = ControlBuffer::LENGTH as _;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `message` points at live locals and at `buffer`, each writable for the length given.
    let length = count(unsafe { libc::recvmsg(fd, &mut message, flags) })?;
    Ok(ReceivedMessage {
        length,
        source: address.decode(message.msg_namelen as usize),
        control,
        control_length: message.msg_controllen as _,
    })
}
