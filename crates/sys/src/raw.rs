//! What every module needs to talk to the kernel: results, socket options, messages with control data.
//!
//! Structures that cross the boundary are laid out in byte arrays rather than cast, so that the only
//! unsafe step left is the call itself.

use std::ffi::c_int;
use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::slice;

/// The result of a call that answers a count, or -1 with the reason in `errno`.
pub(crate) fn count(answer: isize) -> io::Result<usize> {
    usize::try_from(answer).map_err(|_| io::Error::last_os_error())
}

/// The result of a call that answers 0 or a small number, or -1 with the reason in `errno`.
pub(crate) fn number(answer: c_int) -> io::Result<c_int> {
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

/// Sets a socket option to the bytes of `value`.
pub(crate) fn set_option(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &[u8],
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let length = value.len() as libc::socklen_t;
    // SAFETY: `value` is readable for `length` bytes and the descriptor is borrowed for the call.
    let answer = unsafe { libc::setsockopt(fd, level, name, value.as_ptr().cast(), length) };
    number(answer).map(drop)
}

/// Sets a socket option that is an `int`.
pub(crate) fn set_int(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: c_int,
) -> io::Result<()> {
    set_option(socket, level, name, &value.to_ne_bytes())
}

/// Reads a socket option into `value` and answers how many bytes of it the kernel filled.
pub(crate) fn option(
    socket: impl AsFd,
    level: c_int,
    name: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let fd = socket.as_fd().as_raw_fd();
    let mut length = value.len() as libc::socklen_t;
    let room = value.as_mut_ptr().cast();
    // SAFETY: `room` is writable for `length` bytes and the descriptor is borrowed for the call.
    let answer = unsafe { libc::getsockopt(fd, level, name, room, &mut length) };
    number(answer)?;
    Ok(value.len().min(length as usize))
}

/// Reads a socket option that is an `int`.
pub(crate) fn int(socket: impl AsFd, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value = [0; size_of::<c_int>()];
    option(socket, level, name, &mut value)?;
    Ok(c_int::from_ne_bytes(value))
}

/// Whether `socket` was made for IPv6; such a socket may speak IPv4 too.
pub(crate) fn is_v6(socket: impl AsFd) -> bool {
    int(socket, libc::SOL_SOCKET, libc::SO_DOMAIN).is_ok_and(|domain| domain == libc::AF_INET6)
}

/// A field of `bytes` at `offset`, or `None` where they end before it does.
pub(crate) fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

/// The field of `bytes` at `offset` as a `u16` in the byte order of this machine.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    field(bytes, offset).map(u16::from_ne_bytes)
}

/// The field of `bytes` at `offset` as a `u32` in the byte order of this machine.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    field(bytes, offset).map(u32::from_ne_bytes)
}

/// The field of `bytes` at `offset` as a `u64` in the byte order of this machine.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    field(bytes, offset).map(u64::from_ne_bytes)
}

/// The `struct timespec` at the beginning of `bytes` in nanoseconds; `None` when it is all zero.
pub(crate) fn timespec_ns(bytes: &[u8]) -> Option<u64> {
    let word = size_of::<libc::c_long>();
    let long = |offset| match word {
        8 => u64_at(bytes, offset),
        _ => u32_at(bytes, offset).map(u64::from),
    };
    let nanoseconds = long(0)?
        .checked_mul(1_000_000_000)?
        .checked_add(long(word)?)?;
    (nanoseconds != 0).then_some(nanoseconds)
}

/// Room for a `struct sockaddr_in` or `sockaddr_in6`, as the kernel writes it.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(8))]
pub(crate) struct Address([u8; 28]);

impl Address {
    /// How many bytes there is room for.
    pub(crate) const ROOM: usize = size_of::<[u8; 28]>();

    /// Where the kernel is to write the address.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The address the kernel wrote, of which `filled` bytes count.
    ///
    /// Layout: `struct sockaddr_in` and `struct sockaddr_in6`, include/uapi/linux/in.h and in6.h.
    pub(crate) fn decode(&self, filled: usize) -> Option<SocketAddr> {
        let bytes = self.0.get(..filled)?;
        let port = u16::from_be_bytes(field(bytes, 2)?);
        match c_int::from(u16_at(bytes, 0)?) {
            libc::AF_INET => {
                let ip = Ipv4Addr::from(field::<4>(bytes, 4)?);
                Some(SocketAddrV4::new(ip, port).into())
            }
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(field::<16>(bytes, 8)?);
                let flow = u32_at(bytes, 4)?;
                Some(SocketAddrV6::new(ip, port, flow, u32_at(bytes, 24)?).into())
            }
            _ => None,
        }
    }
}

/// The destination in an `IP_PKTINFO` or `IPV6_PKTINFO` message.
pub(crate) fn packet_destination(level: c_int, kind: c_int, data: &[u8]) -> Option<IpAddr> {
    match (level, kind) {
        // `ipi_addr`, the destination in the header, follows the index and the local address.
        (libc::IPPROTO_IP, libc::IP_PKTINFO) => Some(IpAddr::from(field::<4>(data, 8)?)),
        (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => Some(IpAddr::from(field::<16>(data, 0)?)),
        _ => None,
    }
}

/// The size of a `struct cmsghdr` as the kernel counts it: a `size_t` and two `int`.
const CONTROL_HEADER: usize = size_of::<usize>() + 2 * size_of::<c_int>();

/// The control data of one message, going either way.
#[derive(Debug, Clone, Copy)]
#[repr(align(8))]
pub(crate) struct Control([u8; 256]);

impl Control {
    /// How many bytes of control data there is room for.
    pub(crate) const ROOM: usize = size_of::<[u8; 256]>();

    /// Control data still to be filled by the kernel.
    pub(crate) const fn empty() -> Self {
        Self([0; 256])
    }

    /// Control data that is the single message `kind` of `level`, and how many bytes that takes.
    pub(crate) fn single(level: c_int, kind: c_int, data: &[u8]) -> (Self, usize) {
        let mut control = Self::empty();
        let parts: [&[u8]; 4] = [
            &(CONTROL_HEADER + data.len()).to_ne_bytes(),
            &level.to_ne_bytes(),
            &kind.to_ne_bytes(),
            data,
        ];
        let mut filled = 0;
        for part in parts {
            control.0[filled..filled + part.len()].copy_from_slice(part);
            filled += part.len();
        }
        (control, filled.next_multiple_of(size_of::<usize>()))
    }

    /// Where the kernel reads or writes.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut libc::c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The messages in the first `filled` bytes: level, kind and data of each.
    pub(crate) fn messages(&self, filled: usize) -> ControlMessages<'_> {
        ControlMessages(&self.0[..filled.min(Self::ROOM)])
    }
}

/// Walks over the messages of a [`Control`].
pub(crate) struct ControlMessages<'a>(&'a [u8]);

impl<'a> Iterator for ControlMessages<'a> {
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let word = size_of::<usize>();
        let length = usize::from_ne_bytes(field(self.0, 0)?);
        let level = c_int::from_ne_bytes(field(self.0, word)?);
        let kind = c_int::from_ne_bytes(field(self.0, word + size_of::<c_int>())?);
        let data = self.0.get(CONTROL_HEADER..length)?;
        self.0 = self
            .0
            .get(length.next_multiple_of(word)..)
            .unwrap_or_default();
        Some((level, kind, data))
    }
}

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
    let (mut control, filled) = Control::single(level, kind, data);
    let mut part = libc::iovec {
        iov_base: payload.as_ptr().cast_mut().cast(),
        iov_len: payload.len(),
    };
    let mut message = empty_message();
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr();
    message.msg_controllen = filled as _;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `message` points at live locals and at `payload`, which the kernel only reads.
    count(unsafe { libc::sendmsg(fd, &message, libc::MSG_NOSIGNAL) })
}

/// What [`receive_with_control`] learned beside the payload.
pub(crate) struct Arrival {
    /// How much of the buffer was filled.
    pub(crate) length: usize,
    /// Who sent it, when the socket says so.
    pub(crate) source: Option<SocketAddr>,
    control: Control,
    control_length: usize,
}

impl Arrival {
    /// The control messages that came along.
    pub(crate) fn control(&self) -> ControlMessages<'_> {
        self.control.messages(self.control_length)
    }
}

/// Receives one message with its source and its control data.
pub(crate) fn receive_with_control(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: c_int,
) -> io::Result<Arrival> {
    let mut address = Address::default();
    let mut control = Control::empty();
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut message = empty_message();
    message.msg_name = address.as_mut_ptr();
    message.msg_namelen = Address::ROOM as libc::socklen_t;
    message.msg_iov = &mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr();
    message.msg_controllen = Control::ROOM as _;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `message` points at live locals and at `buffer`, each writable for the length given.
    let length = count(unsafe { libc::recvmsg(fd, &mut message, flags) })?;
    Ok(Arrival {
        length,
        source: address.decode(message.msg_namelen as usize),
        control,
        control_length: message.msg_controllen,
    })
}

/// Private zeroed pages that belong to nobody's file, given back when dropped.
///
/// Pages nobody touched cost no memory.
#[derive(Debug)]
pub(crate) struct Pages {
    start: ptr::NonNull<u8>,
    length: usize,
}

impl Pages {
    /// Maps `length` bytes, a page or more.
    pub(crate) fn map(length: usize) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), length, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = ptr::NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// Everything that is mapped.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for `length` bytes and lives as long as `self`.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    /// Everything that is mapped, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is writable for `length` bytes and borrowed for as long as the slice.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is the one `map` was given, and no slice of it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

// SAFETY: the pages have one owner, and are reached through borrows of it only.
unsafe impl Send for Pages {}
// SAFETY: a shared borrow only reads.
unsafe impl Sync for Pages {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_message_reads_back_as_it_was_written() {
        for length in [0, 2, 4, 16, 48] {
            let data: Vec<u8> = (0..length).collect();
            let (control, filled) = Control::single(17, 104, &data);
            let read: Vec<_> = control.messages(filled).collect();
            assert_eq!(read, [(17, 104, data.as_slice())]);
        }
    }

    #[test]
    fn control_data_that_is_cut_short_ends_the_walk() {
        let (control, filled) = Control::single(17, 104, &[1, 2, 3, 4]);
        assert_eq!(control.messages(filled - 5).count(), 0);
    }

    #[test]
    fn pages_start_out_zero_and_keep_what_is_written() -> io::Result<()> {
        let mut pages = Pages::map(3 * 4096)?;
        assert!(pages.bytes().iter().all(|&byte| byte == 0));
        pages.bytes_mut()[5000] = 7;
        assert_eq!(pages.bytes()[5000], 7);
        Ok(())
    }
}
