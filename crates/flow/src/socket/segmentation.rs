//! Segmentation offload for datagrams.

use super::canonical::canonical;
use caudal_sys::interface::{self, Interface};
use caudal_sys::udp::GsoSender;
use std::net::UdpSocket;

/// The queueing disciplines that keep a rate and take a packet with many datagrams for one: they count its framing once.
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
