//! What a dialect puts at the front of its datagrams, so that the loops that carry them are the same.

use caudal_wire::datagram::{HEADER, Header, Kind, fill_payload};
use caudal_wire::iperf3::datagram as iperf3;

/// A datagram's number, counted from 0, and its sender's clock when it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its number in the flow.
    pub sequence: u64,
    /// The sender's clock, ns; only differences mean anything.
    pub sent_ns: u64,
}

/// How the datagrams of one flow are numbered and stamped.
pub trait Layout: Copy {
    /// Bytes before the payload.
    fn header(&self) -> usize;
    /// Fills a datagram's payload; done once for each place in a batch.
    fn fill(&self, datagram: &mut [u8]);
    /// Writes number and clock over the front of a datagram that has room for them.
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64);
    /// Reads number and clock; `due` is the number expected next. `None` for what is no payload of this
    /// flow.
    fn read(&self, datagram: &[u8], due: u64) -> Option<Stamp>;
}

/// Our own datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Native {
    /// The flow's number.
    pub flow: u32,
    /// The test's short name.
    pub tag: u32,
}

impl Layout for Native {
    fn header(&self) -> usize {
        HEADER
    }

    fn fill(&self, datagram: &mut [u8]) {
        if let Some(payload) = datagram.get_mut(HEADER..) {
            fill_payload(payload, self.tag);
        }
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64) {
        if let Some(room) = datagram.first_chunk_mut::<HEADER>() {
            let header = Header {
                kind: Kind::Data,
                flow: self.flow,
                sequence,
                sent_ns,
                tag: self.tag,
            };
            header.write(room);
        }
    }

    #[inline]
    fn read(&self, datagram: &[u8], _due: u64) -> Option<Stamp> {
        let header = Header::read(datagram)?;
        let ours = header.kind == Kind::Data && header.tag == self.tag && header.flow == self.flow;
        ours.then_some(Stamp {
            sequence: header.sequence,
            sent_ns: header.sent_ns,
        })
    }
}

/// The datagrams of an iperf3 stream.
#[derive(Debug, Clone, Copy)]
pub struct Iperf3 {
    /// How wide their numbers are.
    pub numbering: iperf3::Numbering,
    /// Whether the payload is a repeated pattern.
    pub repeating: bool,
}

/// The pattern of a payload that repeats itself, as iperf and iperf3 have it.
pub fn fill_pattern(payload: &mut [u8]) {
    for (byte, digit) in payload.iter_mut().zip((b'0'..=b'9').cycle()) {
        *byte = digit;
    }
}

impl Layout for Iperf3 {
    fn header(&self) -> usize {
        self.numbering.header()
    }

    fn fill(&self, datagram: &mut [u8]) {
        if self.repeating {
            fill_pattern(datagram);
        } else {
            fill_payload(datagram, 0);
        }
    }

    #[inline]
    fn write(&self, datagram: &mut [u8], sequence: u64, sent_ns: u64) {
        let header = iperf3::Header { sequence, sent_ns };
        self.numbering.write(datagram, &header);
    }

    #[inline]
    fn read(&self, datagram: &[u8], due: u64) -> Option<Stamp> {
        if iperf3::is_opening(datagram) {
            return None;
        }
        let header = self.numbering.read(datagram, due)?;
        Some(Stamp {
            sequence: header.sequence,
            sent_ns: header.sent_ns,
        })
    }
}
