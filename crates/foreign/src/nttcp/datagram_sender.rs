//! The sending end of a UDP transfer: payload between marks of the beginning and of the end.

use super::datagrams::NttcpFormat;
use caudal_flow::{DatagramSender, FlowWork, MAX_BATCH, TaskOutcome};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp;
use caudal_wire::nttcp::MARK_BYTES;
use std::net::UdpSocket;

/// The number of marks of the end: the first may be lost.
pub(super) const END_MARKS: u64 = 3;
/// The time between them, ns.
const END_MARK_NS: u64 = 150_000_000;
/// The number of attempts to send a mark.
const MAX_ATTEMPTS: u32 = 3;

/// The task that sends the payload between its marks. The flow ends with its payload.
pub(super) fn datagram_task(sender: DatagramSender<NttcpFormat>) -> FlowWork {
    FlowWork::new(MAX_BATCH, move |flow| {
        let Some(socket) = flow.socket.udp() else {
            return TaskOutcome::default();
        };
        flow.gate.wait(&flow.signals);
        send_mark(socket);
        let spacing = match sender.send(socket, flow) {
            Ok(spacing) => spacing,
            Err(cause) => return TaskOutcome::from_result(Err(cause)),
        };
        flow.counters.set_ended(monotonic_ns());
        for nth in 0..END_MARKS {
            if nth > 0 {
                sleep_until(monotonic_ns() + END_MARK_NS);
            }
            send_mark(socket);
        }
        TaskOutcome {
            spacing,
            ..TaskOutcome::default()
        }
    })
}

fn send_mark(socket: &UdpSocket) {
    for _ in 0..MAX_ATTEMPTS {
        // An earlier datagram that came back as refused is reported by this call: the next attempt sends.
        if udp::send_segments(socket, &[0; MARK_BYTES], MARK_BYTES as u16).is_ok() {
            return;
        }
    }
}
