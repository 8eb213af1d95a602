//! Requests that are sent back as they arrive (2.2).

use super::wall_clock::wall_clock;
use crate::flow::{FlowContext, FlowTask, TaskOutcome};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp;
use caudal_wire::iperf2::{BOUNCEBACK_BYTES, Bounceback};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;

/// The maximum time for which a reply is held back, µs.
const MAX_HOLD_US: u32 = 1_000_000;

/// The task of a flow that sends requests back, of the first of which `read` has been read.
pub(super) fn bounce_task(read: Vec<u8>) -> FlowTask {
    Box::new(move |flow| match flow.socket.tcp() {
        Some(stream) => TaskOutcome::from_result(bounce(stream, read, flow)),
        None => TaskOutcome::default(),
    })
}

fn bounce(mut stream: &TcpStream, mut request: Vec<u8>, flow: &FlowContext) -> io::Result<()> {
    let _ = stream.set_nodelay(true);
    let (mut bytes, mut calls) = (0, 0);
    loop {
        let before = request.len();
        request.resize(BOUNCEBACK_BYTES.max(before), 0);
        if let Err(cause) = stream.read_exact(&mut request[before..]) {
            return match cause.kind() {
                io::ErrorKind::UnexpectedEof => Ok(()),
                _ if flow.signals.is_stopped() => Ok(()),
                _ => Err(cause),
            };
        }
        let Some(header) = Bounceback::decode(&request) else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a request of a size that is not served (64 B to 1 MiB)",
            ));
        };
        let received = wall_clock();
        request.resize(header.size as usize, 0);
        stream.read_exact(&mut request[BOUNCEBACK_BYTES..])?;
        if header.hold_us > 0 {
            let hold_us = header.hold_us.min(MAX_HOLD_US);
            sleep_until(monotonic_ns() + u64::from(hold_us) * 1000);
        }
        if header.stop {
            return Ok(());
        }
        request.resize(header.reply as usize, 0);
        Bounceback::stamp(&mut request, received, wall_clock());
        if header.quick_ack {
            let _ = tcp::set_quickack(stream, true);
        }
        stream.write_all(&request)?;
        bytes += u64::from(header.size) + u64::from(header.reply);
        calls += 2;
        flow.counters.bytes.store(bytes, Relaxed);
        flow.counters.calls.store(calls, Relaxed);
        request.clear();
    }
}
