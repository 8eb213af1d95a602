//! The receiving end of a TCP flow.

use super::counters::FlowCounters;
use super::tcp_state::{ecn_arrived, ecn_seen};
use super::thread::{FlowContext, FlowWork, TaskOutcome};
use super::wakeup_threshold::WakeupThreshold;
use crate::socket::is_retryable;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A reader of a protocol's own fields in the stream that a TCP receiver copies.
pub trait StreamObserver: Debug + Send {
    /// Takes the next bytes of the stream, which were just read, and counts what it finds in them.
    fn take(&mut self, bytes: &[u8], counters: &FlowCounters);
}

/// Minimum size of one receive, bytes.
const MIN_RECEIVE: usize = 128 << 10;
/// Maximum size of one receive that copies, bytes.
const MAX_RECEIVE: usize = 1 << 20;
/// Maximum bytes that one receive discards.
const DISCARD_BLOCK: usize = 4 << 20;

/// The receive buffer for blocks of `length` bytes.
pub fn receive_buffer(length: u32) -> usize {
    (length as usize).clamp(MIN_RECEIVE, MAX_RECEIVE)
}

/// The use of the payload a receiver reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiveMode {
    /// It is copied into a buffer of this many bytes.
    Copy {
        /// The size of the buffer.
        buffer: usize,
        /// `true` when a fast flow's reader may be woken less often.
        coalesce: bool,
    },
    /// The same, with the reads counted by the part of the buffer that they fill.
    CountReads {
        /// The size of the buffer.
        buffer: usize,
    },
    /// It is dropped inside the kernel.
    Discard,
}

impl ReceiveMode {
    /// `true` when a fast flow's reader may be woken less often.
    const fn coalesces(self) -> bool {
        matches!(self, Self::Copy { coalesce: true, .. })
    }

    /// The size of the buffer, bytes.
    const fn buffer(self) -> usize {
        match self {
            Self::Copy { buffer, .. } | Self::CountReads { buffer } => buffer,
            Self::Discard => 0,
        }
    }
}

/// The receiving end of a TCP flow.
#[derive(Debug)]
pub struct TcpReceiver {
    /// The use of the payload.
    pub mode: ReceiveMode,
    /// Bytes that were received before the flow's thread began, such as a header; they count as payload.
    pub bytes_before: u64,
    /// `true` to acknowledge what was read at once: what arrives segment by segment would be acknowledged late, and the sender
    /// measure that as a round trip.
    pub quick_ack: bool,
    /// The file that payload is written into, where it is copied.
    pub sink: Option<File>,
    /// The reader of the protocol's own fields in payload that is copied.
    pub observer: Option<Box<dyn StreamObserver>>,
}

impl TcpReceiver {
    /// A receiver of payload from the first byte on.
    pub const fn new(mode: ReceiveMode) -> Self {
        Self {
            mode,
            bytes_before: 0,
            quick_ack: false,
            sink: None,
            observer: None,
        }
    }

    /// The task of the flow's thread.
    pub fn into_task(self) -> FlowWork {
        FlowWork::new(self.mode.buffer(), move |flow| match flow.socket.tcp() {
            Some(stream) => {
                let result = self.receive(stream, flow);
                TaskOutcome {
                    ecn_seen: ecn_seen(stream),
                    ecn_arrived: ecn_arrived(stream),
                    ..TaskOutcome::from_result(result)
                }
            }
            None => TaskOutcome::default(),
        })
    }

    /// Receives until the other end has closed or the flow is stopped.
    fn receive(mut self, stream: &TcpStream, flow: &FlowContext) -> io::Result<()> {
        let (counters, signals) = (&flow.counters, &flow.signals);
        let fd = stream.as_fd();
        let limit = flow.amount_limit();
        let room = self.mode.buffer();
        let mut buffer = vec![0; room];
        let mut threshold = WakeupThreshold::new(self.mode.coalesces());
        let read_sizes = match self.mode {
            ReceiveMode::CountReads { .. } => {
                Some(counters.read_sizes.get_or_init(Default::default))
            }
            _ => None,
        };
        counters.bytes.store(self.bytes_before, Relaxed);
        let (mut received, mut calls) = (0_u64, 0_u64);
        loop {
            let outcome = match limit {
                None if self.mode == ReceiveMode::Discard => tcp::discard_some(fd, DISCARD_BLOCK),
                None => tcp::receive_some(fd, &mut buffer),
                Some(limit) if !limit.wait_to_read(signals) => return Ok(()),
                Some(limit) if self.mode == ReceiveMode::Discard => {
                    tcp::discard_some(fd, limit.max_read(DISCARD_BLOCK))
                }
                Some(limit) => tcp::receive_some(fd, &mut buffer[..limit.max_read(room)]),
            };
            calls += 1;
            match outcome {
                Ok(0) => {
                    // The sender waits until its last byte is acknowledged, which would otherwise be after up to 40 ms.
                    let _ = tcp::set_quickack(fd, true);
                    return Ok(());
                }
                Ok(count) => {
                    if self.quick_ack {
                        // The setting is not permanent: tcp(7).
                        let _ = tcp::set_quickack(fd, true);
                    }
                    let now = monotonic_ns();
                    if received == 0 {
                        counters.first_ns.store(now, Relaxed);
                    }
                    received += count as u64;
                    counters.bytes.store(self.bytes_before + received, Relaxed);
                    counters.last_ns.store(now, Relaxed);
                    counters.calls.store(calls, Relaxed);
                    if let Some(sink) = &mut self.sink {
                        sink.write_all(&buffer[..count.min(room)])?;
                    }
                    if let Some(observer) = &mut self.observer {
                        observer.take(&buffer[..count.min(room)], counters);
                    }
                    if let Some(sizes) = read_sizes {
                        count_read(sizes, count, room);
                    }
                    if let Some(limit) = limit {
                        limit
                            .take_stream(count as u64, now)
                            .map_err(io::Error::other)?;
                    }
                    threshold.adapt(fd, now, received);
                }
                Err(_) if signals.is_stopped() => return Ok(()),
                Err(cause) if is_retryable(&cause) => {}
                Err(cause) => return Err(cause),
            }
        }
    }
}

/// Counts a read of `count` bytes into a buffer of `room` in its eighth.
fn count_read(sizes: &[AtomicU64; 8], count: usize, room: usize) {
    let eighth = (count.saturating_sub(1) * 8 / room.max(1)).min(7);
    sizes[eighth].fetch_add(1, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_counted_in_the_eighth_of_the_buffer_that_it_fills() {
        let sizes = <[AtomicU64; 8]>::default();
        for count in [1, 1000, 1024, 4097, 8192] {
            count_read(&sizes, count, 8192);
        }
        let counts: Vec<u64> = sizes.iter().map(|size| size.load(Relaxed)).collect();
        assert_eq!(counts, [3, 0, 0, 0, 1, 0, 0, 1]);
    }
}
