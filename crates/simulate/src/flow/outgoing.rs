//! Packets on their way from a flow to the network.

use caudal_link::time::SimTime;

use crate::packet::{DatagramFragment, FlowSide, PacketBody};
use crate::udp::Fragmentation;

/// A packet that one side of a flow sends to the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OutgoingPacket {
    /// The side it is sent to.
    pub(crate) to: FlowSide,
    pub(crate) body: PacketBody,
    /// The length of the IP packet in bytes.
    pub(crate) bytes: u32,
}

/// Adds the packets of datagram `datagram`, sent at `now`, to `out`.
pub(super) fn send_datagram(
    fragmentation: Fragmentation,
    datagram: u64,
    now: SimTime,
    to: FlowSide,
    out: &mut Vec<OutgoingPacket>,
) {
    for index in 0..fragmentation.count {
        let body = PacketBody::Datagram(DatagramFragment {
            datagram,
            sent: now,
            index,
            count: fragmentation.count,
        });
        let bytes = fragmentation.packet_bytes(index);
        out.push(OutgoingPacket { to, body, bytes });
    }
}
