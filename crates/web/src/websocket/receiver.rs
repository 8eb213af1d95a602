//! The receiving end of a WebSocket that carries payload.

use super::frame::{Opcode, frame};
use super::frame_reader::{ClientFrameReader, ControlFrame};
use caudal_flow::socket::is_retryable;
use caudal_flow::{FlowContext, FlowWork, TaskOutcome};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp;
use std::io;
use std::net::TcpStream;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The time after which a read that waits looks at the signals again.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Room for what is read at once, bytes.
const BUFFER_BYTES: usize = 128 << 10;
/// Maximum number of pings that are answered: a browser sends none by itself.
const MAX_PONGS: u32 = 1000;

/// The receiving end of a WebSocket.
#[derive(Debug)]
pub(crate) struct WebSocketReceiver {
    /// The time after which nothing more is read.
    pub(crate) time: Duration,
}

impl WebSocketReceiver {
    /// The work of the flow's thread.
    pub(crate) fn into_task(self) -> FlowWork {
        FlowWork::new(BUFFER_BYTES, move |flow| match flow.socket.tcp() {
            Some(stream) => TaskOutcome::from_result(self.receive(stream, flow)),
            None => TaskOutcome::default(),
        })
    }

    fn receive(&self, stream: &TcpStream, flow: &FlowContext) -> io::Result<()> {
        flow.gate.wait(&flow.signals);
        stream.set_read_timeout(Some(CHECK_INTERVAL))?;
        stream.set_write_timeout(Some(CHECK_INTERVAL))?;
        let until_ns = monotonic_ns().saturating_add(self.time.as_nanos() as u64);
        let (mut reader, mut control) = (ClientFrameReader::default(), Vec::new());
        let (mut received, mut pongs) = (0, 0);
        let mut buffer = vec![0; BUFFER_BYTES];
        while monotonic_ns() < until_ns {
            let room = match flow.amount_limit() {
                None => BUFFER_BYTES,
                Some(limit) if !limit.wait_to_read(&flow.signals) => return Ok(()),
                Some(limit) => limit.max_read(BUFFER_BYTES),
            };
            let piece = match tcp::receive_some(stream, buffer.get_mut(..room).unwrap_or_default())
            {
                Ok(0) => return Ok(()),
                Ok(count) => buffer.get(..count).unwrap_or_default(),
                Err(_) if flow.signals.is_stopped() => return Ok(()),
                Err(cause) if is_retryable(&cause) => continue,
                Err(cause) => return Err(cause),
            };
            let now_ns = monotonic_ns();
            let payload = reader.take(piece, &mut control).map_err(io::Error::other)?;
            if payload > 0 {
                if received == 0 {
                    flow.counters.first_ns.store(now_ns, Relaxed);
                }
                received += payload;
                flow.counters.bytes.store(received, Relaxed);
                flow.counters.last_ns.store(now_ns, Relaxed);
            }
            if let Some(limit) = flow.amount_limit() {
                limit
                    .take_stream(piece.len() as u64, now_ns)
                    .map_err(io::Error::other)?;
            }
            for one in control.drain(..) {
                pongs += 1;
                if pongs > MAX_PONGS || !answer(stream, &one) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Answers a control frame; `false` where it ends the connection.
fn answer(stream: &TcpStream, control: &ControlFrame) -> bool {
    let (opcode, goes_on) = match control.opcode {
        Opcode::Ping => (Opcode::Pong, true),
        Opcode::Close => (Opcode::Close, false),
        _ => return true,
    };
    let status = control.content.get(..2.min(control.content.len()));
    let content = match opcode {
        Opcode::Close => status.unwrap_or_default(),
        _ => &control.content,
    };
    let bytes = frame(opcode, content);
    // One that does not fit at once has no reader.
    let is_sent = tcp::send_some(stream, &bytes).is_ok_and(|count| count == bytes.len());
    goes_on && is_sent
}
