//! The datagrams that iperf 2 sends.

use super::wall_clock::seconds_and_micros;
use caudal_flow::DatagramFormat;
use caudal_sys::clock::realtime_ns;
use caudal_wire::iperf2::{HeaderLayout, fill_pattern, write_datagram_header};

/// The layout of the datagrams that an end of iperf 2 sends.
#[derive(Debug, Clone)]
pub(super) struct Iperf2Format {
    /// The layout of the header.
    pub(super) layout: HeaderLayout,
    /// The number of the first datagram.
    pub(super) first: i64,
    /// The test header behind the datagram's own; empty for none.
    pub(super) test_header: Vec<u8>,
    /// The payload instead of the pattern: each datagram carries the next part of it.
    pub(super) payload: Option<Vec<u8>>,
}

impl Iperf2Format {
    /// The datagrams of a test header and the pattern.
    pub(super) const fn new(layout: HeaderLayout, first: i64, test_header: Vec<u8>) -> Self {
        Self {
            layout,
            first,
            test_header,
            payload: None,
        }
    }

    /// The bytes of a datagram of this length that carry payload.
    pub(super) fn payload_room(&self, length: usize) -> usize {
        let headers = self.layout.header() + self.test_header.len();
        length.saturating_sub(headers)
    }

    /// A datagram without end of the flow's numbering, such as its last one, with this number.
    pub(super) fn write_number(&self, datagram: &mut [u8], number: i64) {
        let now = seconds_and_micros(realtime_ns());
        write_datagram_header(datagram, self.layout, number, now);
    }
}

impl DatagramFormat for Iperf2Format {
    fn fill(&self, datagram: &mut [u8]) {
        fill_pattern(datagram);
        let behind = datagram.iter_mut().skip(self.layout.header());
        for (byte, value) in behind.zip(&self.test_header) {
            *byte = *value;
        }
    }

    #[inline]
    fn stamp_ns(&self, _now_ns: u64) -> u64 {
        realtime_ns()
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64) {
        if let Some(payload) = &self.payload {
            let room = self.payload_room(datagram.len());
            let rest = payload.get(sequence as usize * room..).unwrap_or_default();
            let (_, room) = datagram.split_at_mut(datagram.len() - room);
            for (room, byte) in room.iter_mut().zip(rest) {
                *room = *byte;
            }
        }
        let number = self.first + sequence as i64;
        write_datagram_header(datagram, self.layout, number, seconds_and_micros(sent_ns));
    }
}
