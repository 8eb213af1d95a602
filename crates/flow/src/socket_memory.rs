//! What the kernel may keep in the buffers of the sockets of a server's client, reserved before it is granted.
//!
//! Buffers of TCP grow by themselves up to `net.ipv4.tcp_wmem` and `tcp_rmem`, whether or not the other end reads or this one does. A flow
//! whose share of the memory is shorter than that gets buffers of a fixed size that fit it.

use crate::memory::{MemoryBudget, MemoryExhausted, MemoryReservation};
use crate::session_limits::SessionLimits;
use crate::socket::DataSocket;
use caudal_core::sample::{Granted, Role};
use caudal_sys::{buffers, host};

/// Minimum buffer of a socket, bytes: with less a flow is not a test.
const MIN_BYTES: u64 = 64 << 10;
/// The maximum that a buffer of TCP grows to where the kernel does not tell, bytes (tcp(7)).
const USUAL_TCP_BYTES: u64 = 6 << 20;

/// The memory that the buffers of each of `flows` sockets of a test may take, bytes.
pub(crate) fn buffer_share(budget: &MemoryBudget, flows: usize) -> u64 {
    budget.share_of_test() / flows.max(1) as u64
}

/// Reserves what the kernel may keep for a socket, of which this end has the role `role`: `share` bytes where it would be more, to which its
/// buffer is fixed then, as `granted` has it afterwards.
///
/// # Errors
/// When not even the smallest buffers fit.
pub(crate) fn reserve_buffers(
    socket: &DataSocket,
    role: Role,
    share: u64,
    limits: &SessionLimits,
    granted: &mut Granted,
) -> Result<MemoryReservation, MemoryExhausted> {
    let budget = &limits.memory;
    let wanted = wanted_bytes(socket, role, limits.max_rate.is_some());
    if share >= wanted {
        return budget.reserve(wanted);
    }
    let bytes = share.max(MIN_BYTES);
    let reservation = budget.reserve(bytes)?;
    // The kernel doubles what it is asked for. Without privileges it grants `net.core.wmem_max` or `rmem_max` at most.
    let asked = (bytes / 2) as usize;
    let fixed = match (socket, role) {
        (DataSocket::Tcp(stream), Role::Sender) => buffers::set_send_buffer(stream, asked, true),
        (DataSocket::Tcp(stream), Role::Receiver) => {
            buffers::set_receive_buffer(stream, asked, true)
        }
        (DataSocket::Udp(udp), Role::Sender) => buffers::set_send_buffer(udp, asked, true),
        (DataSocket::Udp(udp), Role::Receiver) => buffers::set_receive_buffer(udp, asked, true),
    };
    let of_role = match role {
        Role::Sender => &mut granted.send_buffer_bytes,
        Role::Receiver => &mut granted.receive_buffer_bytes,
    };
    if let (Some(told), Ok(bytes)) = (of_role, fixed) {
        *told = bytes.into();
    }
    Ok(reservation)
}

/// What the kernel may keep for a socket, bytes: its buffer as it is or, over TCP, as far as it may grow. What is read at once, as without
/// a limit on the rate, does not stay in the one of a receiver.
fn wanted_bytes(socket: &DataSocket, role: Role, is_held_back: bool) -> u64 {
    let now = match (socket, role) {
        (DataSocket::Tcp(stream), Role::Sender) => buffers::send_buffer(stream),
        (DataSocket::Tcp(stream), Role::Receiver) => buffers::receive_buffer(stream),
        (DataSocket::Udp(udp), Role::Sender) => buffers::send_buffer(udp),
        (DataSocket::Udp(udp), Role::Receiver) => buffers::receive_buffer(udp),
    };
    let now = now.map_or(0, u64::from);
    let grows_to = match (socket, role) {
        (DataSocket::Tcp(_), Role::Sender) => largest("net.ipv4.tcp_wmem"),
        (DataSocket::Tcp(_), Role::Receiver) if is_held_back => largest("net.ipv4.tcp_rmem"),
        (DataSocket::Tcp(_), Role::Receiver) | (DataSocket::Udp(_), _) => 0,
    };
    now.max(grows_to)
}

/// The largest of the three sizes of a sysctl, bytes.
fn largest(name: &str) -> u64 {
    let sizes = host::sysctl(name);
    let largest = sizes.and_then(|sizes| sizes.split_whitespace().last()?.parse().ok());
    largest.unwrap_or(USUAL_TCP_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::units::ByteCount;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn buffers_that_fit_grow_by_themselves_and_others_are_bounded() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = DataSocket::Tcp(stream);
        let DataSocket::Tcp(stream) = &socket else {
            unreachable!()
        };
        let grows_to = largest("net.ipv4.tcp_wmem");
        let limits = |bytes: u64| SessionLimits {
            memory: MemoryBudget::with_share(ByteCount::new(bytes), ByteCount::new(bytes)),
            ..SessionLimits::unlimited()
        };
        let ample = limits(1 << 40);
        let before = buffers::send_buffer(stream).unwrap();
        let share = buffer_share(&ample.memory, 100);
        let mut granted = Granted {
            send_buffer_bytes: Some(before.into()),
            ..Granted::default()
        };
        let reserved = reserve_buffers(&socket, Role::Sender, share, &ample, &mut granted).unwrap();
        assert_eq!(granted.send_buffer_bytes, Some(before.into()));
        assert_eq!(ample.memory.reserved(), grows_to);
        assert_eq!(buffers::send_buffer(stream).unwrap(), before);
        drop(reserved);
        let short = limits(16 << 20);
        let share = buffer_share(&short.memory, 8);
        let _reserved =
            reserve_buffers(&socket, Role::Sender, share, &short, &mut granted).unwrap();
        assert_eq!(granted.send_buffer_bytes, Some(128 << 10));
        assert_eq!(short.memory.reserved(), 128 << 10);
        assert_eq!(buffers::send_buffer(stream).unwrap(), 128 << 10);
        // The smallest are what there is at least.
        let few = limits(1 << 20);
        let all: Vec<_> = (0..100)
            .map_while(|_| reserve_buffers(&socket, Role::Receiver, 0, &few, &mut granted).ok())
            .collect();
        assert_eq!(all.len(), 16);
    }

    #[test]
    fn what_a_socket_of_datagrams_may_keep_is_its_buffer() {
        let socket = DataSocket::Udp(UdpSocket::bind("127.0.0.1:0").unwrap());
        let DataSocket::Udp(udp) = &socket else {
            unreachable!()
        };
        let buffer = u64::from(buffers::receive_buffer(udp).unwrap());
        assert_eq!(wanted_bytes(&socket, Role::Receiver, true), buffer);
    }
}
