//! The socket that carries the payload of a flow.

use caudal_core::plan::Transport;
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The socket that carries the payload of a flow.
#[derive(Debug)]
pub enum DataSocket {
    /// A TCP connection.
    Tcp(TcpStream),
    /// A connected UDP socket.
    Udp(UdpSocket),
}

impl DataSocket {
    /// The connection; `None` for UDP.
    pub const fn tcp(&self) -> Option<&TcpStream> {
        match self {
            Self::Tcp(stream) => Some(stream),
            Self::Udp(_) => None,
        }
    }

    /// The UDP socket; `None` for TCP.
    pub const fn udp(&self) -> Option<&UdpSocket> {
        match self {
            Self::Tcp(_) => None,
            Self::Udp(socket) => Some(socket),
        }
    }

    /// The transport protocol.
    pub const fn transport(&self) -> Transport {
        match self {
            Self::Tcp(_) => Transport::Tcp,
            Self::Udp(_) => Transport::Udp,
        }
    }

    /// The address of this end.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub fn local_address(&self) -> std::io::Result<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr(),
            Self::Udp(socket) => socket.local_addr(),
        }
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// When the kernel does not report it, or the socket is not connected.
    pub fn peer_address(&self) -> std::io::Result<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr(),
            Self::Udp(socket) => socket.peer_addr(),
        }
    }

    /// The number of its descriptor in this process.
    pub fn descriptor(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }

    /// Wakes a thread that is blocked in a receive or a send. A UDP socket can only be shut down for reading; its sends do
    /// not block for long.
    pub fn shut_down(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Udp(socket) => socket2::SockRef::from(socket).shutdown(Shutdown::Read),
        };
    }
}

impl AsFd for DataSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Udp(socket) => socket.as_fd(),
        }
    }
}
