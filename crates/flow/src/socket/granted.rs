//! The settings the kernel granted a socket, which may differ from those requested.

use super::canonical::canonical;
use caudal_core::sample::Granted;
use caudal_sys::interface::{self, Interface};
use caudal_sys::udp::GsoSender;
use caudal_sys::{buffers, tcp, udp};
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;

/// The part of what the kernel granted that every socket has: its addresses and buffers.
fn granted(
    socket: impl AsFd,
    local: io::Result<SocketAddr>,
    peer: io::Result<SocketAddr>,
) -> Granted {
    let name = |address: io::Result<SocketAddr>| {
        address
            .map(canonical)
            .map_or(String::new(), |address| address.to_string())
    };
    let socket = socket.as_fd();
    Granted {
        local: name(local).into(),
        peer: name(peer).into(),
        send_buffer_bytes: buffers::send_buffer(socket).ok().map(u64::from),
        receive_buffer_bytes: buffers::receive_buffer(socket).ok().map(u64::from),
        ..Granted::default()
    }
}

/// The settings the kernel granted a TCP connection.
pub fn granted_tcp(stream: &TcpStream, mptcp: bool) -> Granted {
    let info = tcp::tcp_info(stream).ok();
    Granted {
        mss: info.as_ref().map(|info| info.snd_mss),
        path_mtu: info.as_ref().map(|info| info.pmtu),
        congestion: tcp::congestion(stream).ok().map(Into::into),
        mptcp: if mptcp {
            tcp::is_mptcp_active(stream)
        } else {
            None
        },
        ..granted(stream, stream.local_addr(), stream.peer_addr())
    }
}

/// The settings the kernel granted a UDP socket whose datagrams are sent and received one by one.
pub fn granted_udp(socket: &UdpSocket) -> Granted {
    Granted {
        path_mtu: udp::path_mtu(socket),
        ..granted(socket, socket.local_addr(), socket.peer_addr())
    }
}

/// The settings the kernel granted a UDP socket that sends and receives datagrams in batches.
pub fn granted_batched_udp(socket: &UdpSocket, length: u32) -> Granted {
    Granted {
        segments_per_send: Some(segmentation(socket).max_datagrams(length as usize) as u32),
        receive_offload: Some(udp::enable_gro(socket)),
        ..granted_udp(socket)
    }
}

/// Queueing disciplines that limit a rate and count the framing of a packet with many datagrams once.
const SHAPERS: [&str; 4] = ["tbf", "htb", "hfsc", "netem"];

/// The sender of runs of datagrams for a connected socket: without segmentation offload where the interface on the way to its
/// peer has a shaper, so that this counts every datagram.
pub fn segmentation(socket: &UdpSocket) -> GsoSender {
    let device = || {
        let peer = socket.peer_addr().ok()?;
        let route = interface::route_to_socket(canonical(peer))?;
        Interface::by_name(&route.interface)
    };
    let is_shaped = device()
        .and_then(|device| device.qdisc)
        .is_some_and(|qdisc| SHAPERS.contains(&qdisc.as_str()));
    if is_shaped {
        GsoSender::single()
    } else {
        GsoSender::new(socket)
    }
}
