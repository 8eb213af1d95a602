//! Round-trip times with empty queues, and the delay of a full queue.

use std::time::Duration;

use caudal_core::plan::Transport;
use caudal_topology::{Hop, Impairments, QueueLimit};

use super::network::{FlowKind, FlowNetwork, RoutedFlow, highest_rate};

/// The round-trip time with empty queues; for a flow of datagrams the one-way delay.
pub(super) fn round_trip(network: &FlowNetwork<'_>, flow: &RoutedFlow) -> Duration {
    let framing = &flow.framing;
    let full = flow.full_frame();
    match flow.parameters.kind {
        FlowKind::Tcp { .. } => {
            network.one_way(&flow.path, full)
                + network.one_way(&flow.return_path, framing.ack_wire_bytes())
        }
        FlowKind::Udp { payload, .. } => {
            let wire = framing.udp_wire_bytes(payload).unwrap_or(0);
            message_delay(network, &flow.path, wire, full)
        }
        FlowKind::Echo {
            transport,
            message: bytes,
        } => {
            let wire = match transport {
                Transport::Tcp => framing.tcp_wire_bytes(u64::from(bytes)),
                Transport::Udp => framing.udp_wire_bytes(bytes),
            };
            let wire = wire.unwrap_or(0);
            message_delay(network, &flow.path, wire, full)
                + message_delay(network, &flow.return_path, wire, full)
        }
    }
}

/// The one-way delay of a message of several frames: the slowest link carries all of it, the others one frame behind that.
fn message_delay(network: &FlowNetwork<'_>, path: &[Hop], wire: u64, full: u64) -> Duration {
    let frame = wire.min(full);
    let slowest = path
        .iter()
        .filter_map(|hop| highest_rate(network.topology.impairments(*hop)))
        .min();
    let rest = slowest.map_or(Duration::ZERO, |rate| {
        let seconds = (wire - frame) as f64 * 8.0 / rate.as_f64().max(1.0);
        Duration::try_from_secs_f64(seconds).unwrap_or_default()
    });
    network.one_way(path, frame) + rest
}

/// The delay of a full queue at one direction of a link whose frames take `wire` bytes; `None` without a rate or a limit.
pub(super) fn queue_delay(impairments: &Impairments, wire: u64) -> Option<Duration> {
    let rate = highest_rate(impairments)?;
    let bytes = match impairments.queue.limit {
        QueueLimit::Frames(frames) => frames.saturating_mul(wire),
        QueueLimit::Bytes(bytes) => bytes.get(),
        QueueLimit::None => return None,
    };
    Duration::try_from_secs_f64(bytes as f64 * 8.0 / rate.as_f64().max(1.0)).ok()
}
