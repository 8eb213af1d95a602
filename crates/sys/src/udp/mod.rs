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
#[cfg(test)]
mod testing;

pub use arrival::last_arrival_ns;
pub use error_queue::{
    QueuedIcmpError, QueuedMessage, enable_error_queue, receive_queued, send_probe,
};
pub use gro::{GroReceiver, ReceivedBatch, Wait, enable_gro};
pub use gso::{GsoSender, max_segments, send_segments};
pub use many::{MAX_DATAGRAMS, ManySender};
pub use meminfo::{MemInfo, meminfo};
pub use options::{
    enable_drop_counter, enable_receive_timestamps, enable_receive_tos, enable_receive_ttl,
    path_mtu, pending_error, set_dont_fragment, set_mtu_probing, set_receive_timeout, set_ttl,
};
pub use packet_info::{
    PacketDestination, ReplyMarks, enable_packet_info, receive_with_destination, receive_with_tos,
    send_from, send_marked_from,
};
