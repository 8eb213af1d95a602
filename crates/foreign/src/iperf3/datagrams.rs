//! The datagrams of an iperf3 stream.

use caudal_flow::{DatagramFormat, DatagramReader, SenderClock, Stamp};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_wire::datagram::fill_payload;
use caudal_wire::iperf2::fill_pattern;
use caudal_wire::iperf3::Parameters;
use caudal_wire::iperf3::datagram::{CounterWidth, Iperf3Header, answer_to, is_opening};
use std::net::UdpSocket;

/// The layout of an iperf3 stream's datagrams.
#[derive(Debug, Clone, Copy)]
pub(super) struct Iperf3Format {
    width: CounterWidth,
    /// `true` when the payload is a repeated pattern.
    is_repeating: bool,
    /// The difference of the clock of the stamps from the monotonic clock, ns.
    clock_offset_ns: u64,
}

/// The first release that stamps datagrams by the monotonic clock. Those before compute jitter from the difference of both
/// ends' wall clocks, beginning with that of the first datagram.
const MONOTONIC_RELEASE: (u32, u32) = (3, 7);

impl From<&Parameters> for Iperf3Format {
    fn from(parameters: &Parameters) -> Self {
        Self {
            width: if parameters.wide_counters {
                CounterWidth::Wide
            } else {
                CounterWidth::Narrow
            },
            is_repeating: parameters.repeating_payload,
            clock_offset_ns: match parameters.client_release() {
                Some(release) if release >= MONOTONIC_RELEASE => 0,
                _ => realtime_ns().saturating_sub(monotonic_ns()),
            },
        }
    }
}

impl DatagramFormat for Iperf3Format {
    fn fill(&self, datagram: &mut [u8]) {
        if self.is_repeating {
            fill_pattern(datagram);
        } else {
            fill_payload(datagram, 0);
        }
    }

    #[inline]
    fn stamp_ns(&self, now_ns: u64) -> u64 {
        now_ns + self.clock_offset_ns
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64) {
        self.width
            .write(datagram, &Iperf3Header { sequence, sent_ns });
    }
}

impl DatagramReader for Iperf3Format {
    const CLOCK: SenderClock = SenderClock::Monotonic;

    #[inline]
    fn read(&mut self, datagram: &[u8], due: u64, _arrived_ns: u64) -> Option<Stamp> {
        if is_opening(datagram) {
            return None;
        }
        let header = self.width.read(datagram, due)?;
        Some(Stamp {
            sequence: header.sequence,
            sent_ns: Some(header.sent_ns),
        })
    }

    #[cold]
    fn control(&mut self, socket: &UdpSocket, datagram: &[u8]) -> bool {
        // A hello that is repeated has lost its answer.
        if let Some(answer) = answer_to(datagram) {
            let _ = socket.send(&answer);
        }
        is_opening(datagram)
    }
}
