//! UDP: datagrams, sent and received many at a time, and the options of their sockets.
//!
//! One call may carry many datagrams of one size: the sender names the size (`UDP_SEGMENT`) and the kernel cuts the
//! payload; the receiver asks for coalesced datagrams (`UDP_GRO`) and is given their size.

mod arrival;
mod error_queue;
mod gro;
mod gso;
mod many;
mod meminfo;
mod options;
mod packet_info;

pub use arrival::last_arrival_ns;
pub use error_queue::{
    QueuedIcmpError, QueuedMessage, enable_error_queue, receive_queued, send_probe,
};
pub use gro::{GroReceiver, ReceivedBatch, Wait, enable_gro};
pub use gso::{GsoSender, max_segments, send_segments};
pub use many::{MAX_DATAGRAMS, ManySender};
pub use meminfo::{MemInfo, meminfo};
pub use options::{
    enable_drop_counter, enable_receive_timestamps, enable_receive_tos, path_mtu, pending_error,
    set_dont_fragment, set_mtu_probing, set_receive_timeout,
};
pub use packet_info::{PacketDestination, enable_packet_info, receive_with_destination, send_from};

#[cfg(test)]
mod testing {
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
}
