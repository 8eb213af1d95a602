//! The datagrams of nttcp: payload without numbers, between marks of the beginning and of the end.

use caudal_flow::{DatagramFormat, DatagramReader, ReceiveStep, ReceiverView, SenderClock, Stamp};
use caudal_wire::nttcp::MARK_BYTES;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The payload of nttcp.
pub(super) const FILL: u8 = b'n';

/// The datagrams that a sender of nttcp sends.
#[derive(Debug, Clone, Copy)]
pub(super) struct NttcpFormat;

impl DatagramFormat for NttcpFormat {
    fn fill(&self, datagram: &mut [u8]) {
        datagram.fill(FILL);
    }

    fn write(&self, _datagram: &mut [u8], _sequence: u64, _sent_ns: u64) {}
}

/// The times at which the marks arrived, ns of the wall clock; 0 before.
#[derive(Debug, Default)]
pub(super) struct MarkTimes {
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
}

impl MarkTimes {
    /// The time between both marks; `None` when one of them did not arrive.
    pub(super) fn elapsed(&self) -> Option<Duration> {
        let (began_ns, ended_ns) = (self.began_ns.load(Relaxed), self.ended_ns.load(Relaxed));
        (began_ns > 0 && ended_ns > 0)
            .then(|| Duration::from_nanos(ended_ns.saturating_sub(began_ns)))
    }
}

/// The receiving end of a UDP transfer.
#[derive(Debug)]
pub(super) struct NttcpReader {
    source: IpAddr,
    marks: Arc<MarkTimes>,
    has_payload: bool,
}

impl NttcpReader {
    /// A reader of the datagrams from `source`.
    pub(super) const fn new(source: IpAddr, marks: Arc<MarkTimes>) -> Self {
        Self {
            source,
            marks,
            has_payload: false,
        }
    }
}

impl DatagramReader for NttcpReader {
    // The marks are timed by when they arrived, not by when they were read.
    const CLOCK: SenderClock = SenderClock::Wall;

    fn is_source(&self, source: Option<SocketAddr>) -> bool {
        source.is_none_or(|source| source.ip().to_canonical() == self.source)
    }

    #[inline]
    fn read(&mut self, datagram: &[u8], due: u64, arrived_ns: u64) -> Option<Stamp> {
        if datagram.len() > MARK_BYTES {
            self.has_payload = true;
            return Some(Stamp {
                sequence: due,
                sent_ns: None,
            });
        }
        let marks = &self.marks;
        if !self.has_payload || marks.began_ns.load(Relaxed) == 0 {
            marks.began_ns.store(arrived_ns, Relaxed);
        } else if marks.ended_ns.load(Relaxed) == 0 {
            marks.ended_ns.store(arrived_ns, Relaxed);
        }
        None
    }

    fn control(&mut self, _socket: &UdpSocket, _datagram: &[u8]) -> bool {
        true
    }

    fn step(&mut self, view: &ReceiverView<'_>) -> io::Result<ReceiveStep> {
        if self.marks.ended_ns.load(Relaxed) == 0 {
            return Ok(ReceiveStep::Continue);
        }
        view.counters.set_ended(view.now_ns);
        Ok(ReceiveStep::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_lies_between_the_marks_and_is_timed_by_them() {
        let marks: Arc<MarkTimes> = Arc::default();
        let mut reader = NttcpReader::new([192, 0, 2, 1].into(), Arc::clone(&marks));
        assert!(reader.is_source(Some("192.0.2.1:9".parse().unwrap())));
        assert!(!reader.is_source(Some("192.0.2.2:9".parse().unwrap())));
        assert_eq!(reader.read(&[0; MARK_BYTES], 0, 5), None);
        assert_eq!(
            reader.read(&[FILL; 100], 0, 6).map(|stamp| stamp.sequence),
            Some(0)
        );
        assert_eq!(marks.elapsed(), None);
        assert_eq!(reader.read(&[0; MARK_BYTES], 1, 1005), None);
        assert_eq!(reader.read(&[0; MARK_BYTES], 1, 9005), None);
        assert_eq!(marks.elapsed(), Some(Duration::from_micros(1)));
    }
}
