//! Sockets over loopback for tests.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// A sender connected to a receiver over loopback, whose receives end after 10 s.
pub(super) fn pair() -> io::Result<(UdpSocket, UdpSocket)> {
    let receiver = UdpSocket::bind("127.0.0.1:0")?;
    super::set_receive_timeout(&receiver, Some(Duration::from_secs(10)))?;
    let sender = UdpSocket::bind("127.0.0.1:0")?;
    sender.connect(receiver.local_addr()?)?;
    Ok((sender, receiver))
}

/// Datagrams of `size` bytes, each filled with its number.
pub(super) fn numbered(datagrams: u8, size: usize) -> Vec<u8> {
    (0..datagrams)
        .flat_map(|number| vec![number; size])
        .collect()
}
