//! The sending end of a WebSocket that carries payload.

use super::frame::{Opcode, close_frame, header, text_frame};
use caudal_core::units::BitRate;
use caudal_flow::socket::is_retryable;
use caudal_flow::{FlowContext, FlowWork, TaskOutcome, WritePace, WritePacer, tcp_state};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::tcp;
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The first and the largest message whose sizes grow, bytes. Source: ndt7, section "Download".
const FIRST_MESSAGE: usize = 1 << 13;
const MAX_MESSAGE: usize = 1 << 20;
/// The time after which a send that waits looks at the signals again.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum sleep between two checks of the signals, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// The sizes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SentMessageSizes {
    /// They double while they are less than this part of what was sent, up to so many bytes.
    Growing {
        /// The part.
        part: u64,
        /// The largest, bytes.
        max: usize,
    },
}

impl SentMessageSizes {
    /// Those of ndt7. Source: its specification, section "Requirements for non-interactive clients" and that of the server.
    pub(crate) const NDT7: Self = Self::Growing {
        part: 16,
        max: MAX_MESSAGE,
    };
    /// Those of a page, which counts whole messages: they stay small enough for intervals.
    pub(crate) const SLOWLY_GROWING: Self = Self::Growing {
        part: 256,
        max: 1 << 18,
    };

    /// The size of the message after one of `last` bytes, when `sent` have been sent in all.
    fn next(self, last: usize, sent: u64) -> usize {
        let Self::Growing { part, max } = self;
        match last {
            0 => FIRST_MESSAGE,
            last if last < max && (last as u64) < sent / part => last * 2,
            last => last,
        }
    }

    /// The bytes that a sender of these holds.
    const fn buffer(self) -> usize {
        let Self::Growing { max, .. } = self;
        max
    }
}

/// Random bytes, which no proxy compresses.
pub(crate) fn random_payload() -> io::Result<Arc<Vec<u8>>> {
    let block: [u8; 4096] = caudal_flow::random_bytes()?;
    Ok(Arc::new(block.repeat(MAX_MESSAGE / block.len())))
}

/// The sending end of a WebSocket.
pub(crate) struct WebSocketSender {
    /// What is sent.
    pub(crate) payload: Arc<Vec<u8>>,
    /// The sizes of its messages.
    pub(crate) sizes: SentMessageSizes,
    /// The time after which no new message begins.
    pub(crate) time: Duration,
    /// The maximum rate.
    pub(crate) max_rate: Option<BitRate>,
    /// `true` to drop at the end what has not left yet, so that it is not in the way of what comes next.
    pub(crate) drops_rest: bool,
    /// Text that is due between two messages, when so many bytes have been sent.
    pub(crate) notes: Option<NoteSource>,
}

/// Tells the text that is due, when so many bytes have been sent.
pub(crate) type NoteSource = Box<dyn FnMut(&TcpStream, u64) -> Option<String> + Send>;

impl WebSocketSender {
    /// The work of the flow's thread.
    pub(crate) fn into_task(self) -> FlowWork {
        FlowWork::new(self.sizes.buffer(), move |flow| match flow.socket.tcp() {
            Some(stream) => self.run(stream, flow),
            None => TaskOutcome::default(),
        })
    }

    fn run(mut self, stream: &TcpStream, flow: &FlowContext) -> TaskOutcome {
        flow.gate.wait(&flow.signals);
        let _ = stream.set_write_timeout(Some(CHECK_INTERVAL));
        let result = self.send(stream, flow);
        flow.counters.last_ns.store(monotonic_ns(), Relaxed);
        let tcp = tcp_state(stream);
        if self.drops_rest {
            let _ = tcp::set_zero_linger(stream);
        } else {
            let _ = tcp::shutdown_write(stream);
        }
        TaskOutcome {
            tcp,
            ..TaskOutcome::from_result(result)
        }
    }

    fn send(&mut self, stream: &TcpStream, flow: &FlowContext) -> io::Result<()> {
        let start_ns = monotonic_ns();
        let until_ns = start_ns.saturating_add(self.time.as_nanos() as u64);
        let mut pacer = self
            .max_rate
            .map(|rate| WritePacer::new(start_ns, WritePace::in_whole_blocks(rate)));
        let (mut sent, mut size) = (0_u64, 0);
        let is_over = || flow.signals.is_stopped() || monotonic_ns() >= until_ns;
        while !is_over() {
            size = self.sizes.next(size, sent);
            if let Some(limit) = flow.amount_limit() {
                let room = limit.room_to_send().map_err(io::Error::other)?;
                size = size.min(usize::try_from(room).unwrap_or(usize::MAX));
            }
            if let Some(pacer) = &mut pacer {
                loop {
                    let now_ns = monotonic_ns();
                    let wait_ns = pacer.wait_ns(now_ns, sent, size as u64);
                    if wait_ns == 0 {
                        pacer.written(now_ns);
                        break;
                    }
                    if is_over() {
                        return self.close(stream, flow);
                    }
                    sleep_until(now_ns + wait_ns.min(MAX_SLEEP_NS));
                }
            }
            if let Some(text) = self.notes.as_mut().and_then(|notes| notes(stream, sent)) {
                write(stream, &text_frame(&text), flow, |_| {})?;
            }
            write(stream, &header(Opcode::Binary, size as u64), flow, |_| {})?;
            let content = self.payload.get(..size).unwrap_or(&self.payload);
            write(stream, content, flow, |count| {
                sent += count;
                flow.counters.bytes.store(sent, Relaxed);
                if let Some(limit) = flow.amount_limit() {
                    limit.add_sent(count);
                }
            })?;
        }
        self.close(stream, flow)
    }

    /// Ends the WebSocket, where what was sent is to arrive.
    fn close(&self, stream: &TcpStream, flow: &FlowContext) -> io::Result<()> {
        if self.drops_rest || flow.signals.is_stopped() {
            return Ok(());
        }
        write(stream, &close_frame(1000), flow, |_| {})
    }
}

/// Writes all bytes, unless the flow is stopped meanwhile.
fn write(
    stream: &TcpStream,
    mut bytes: &[u8],
    flow: &FlowContext,
    mut written: impl FnMut(u64),
) -> io::Result<()> {
    while !bytes.is_empty() && !flow.signals.is_stopped() {
        match tcp::send_some(stream, bytes) {
            Ok(count) => {
                bytes = bytes.get(count..).unwrap_or_default();
                written(count as u64);
            }
            Err(_) if flow.signals.is_stopped() => return Ok(()),
            Err(cause) if is_retryable(&cause) => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_grow_with_what_was_sent() {
        let (mut size, mut sent, mut sizes) = (0, 0, Vec::new());
        while sent < 100_000_000 {
            size = SentMessageSizes::NDT7.next(size, sent);
            sent += size as u64;
            if sizes.last() != Some(&size) {
                assert!(size == FIRST_MESSAGE || (size / 2) as u64 * 16 < sent);
                sizes.push(size);
            }
        }
        assert_eq!(
            (sizes[0], *sizes.last().unwrap()),
            (FIRST_MESSAGE, MAX_MESSAGE)
        );
        assert_eq!(sizes.len(), 8);
        assert_eq!(
            SentMessageSizes::SLOWLY_GROWING.next(1 << 18, u64::MAX),
            1 << 18
        );
    }
}
