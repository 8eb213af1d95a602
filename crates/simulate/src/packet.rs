//! Packets: TCP segments and UDP datagrams, encoded in the content of a frame.

use caudal_link::time::SimTime;

use crate::tcp::{SackBlocks, TcpSegment};

/// One of the two sides of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlowSide {
    /// The side where the flow starts.
    Initiator,
    /// The side where it ends.
    Responder,
}

impl FlowSide {
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

/// A UDP datagram or one of its IP fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DatagramFragment {
    /// The datagram's number, counted from 0.
    pub(crate) datagram: u64,
    /// The time at which the application sent the datagram.
    pub(crate) sent: SimTime,
    /// The fragment's number, counted from 0.
    pub(crate) index: u16,
    /// The number of fragments of the datagram.
    pub(crate) count: u16,
}

/// The content of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PacketBody {
    Segment(TcpSegment),
    Datagram(DatagramFragment),
}

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The flow's number in the scenario.
    pub(crate) flow: u32,
    /// The side it is sent to.
    pub(crate) to: FlowSide,
    pub(crate) body: PacketBody,
}

/// The largest encoded length in bytes.
const MAX_ENCODED_BYTES: usize = 128;
/// The encoding of an absent timestamp.
const NO_TIME: u64 = u64::MAX;

mod flag {
    pub(super) const TO_RESPONDER: u8 = 1;
    pub(super) const DATAGRAM: u8 = 2;
    pub(super) const SYN: u8 = 4;
    pub(super) const ACK: u8 = 8;
    pub(super) const DSACK: u8 = 16;
    pub(super) const PSH: u8 = 32;
}

/// Writes little-endian fields.
struct FieldWriter {
    bytes: [u8; MAX_ENCODED_BYTES],
    length: usize,
}

impl FieldWriter {
    fn put<const N: usize>(&mut self, number: [u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(&number);
        self.length += N;
    }
}

/// Reads little-endian fields.
struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

impl Packet {
    /// Encodes the packet for [`Self::decode`] and calls `use_bytes` with the result.
    pub(crate) fn encode<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        let mut writer = FieldWriter {
            bytes: [0; MAX_ENCODED_BYTES],
            length: 0,
        };
        let mut flags = if self.to == FlowSide::Responder {
            flag::TO_RESPONDER
        } else {
            0
        };
        match &self.body {
            PacketBody::Datagram(fragment) => {
                flags |= flag::DATAGRAM;
                writer.put([flags]);
                writer.put(self.flow.to_le_bytes());
                writer.put(fragment.datagram.to_le_bytes());
                writer.put(fragment.sent.as_ns().to_le_bytes());
                writer.put(fragment.index.to_le_bytes());
                writer.put(fragment.count.to_le_bytes());
            }
            PacketBody::Segment(segment) => {
                flags |= if segment.syn { flag::SYN } else { 0 };
                flags |= if segment.ack { flag::ACK } else { 0 };
                flags |= if segment.psh { flag::PSH } else { 0 };
                if segment.sack.first_is_dsack() {
                    flags |= flag::DSACK;
                }
                writer.put([flags]);
                writer.put(self.flow.to_le_bytes());
                writer.put(segment.sequence.to_le_bytes());
                writer.put(segment.length.to_le_bytes());
                writer.put(segment.acknowledgment.to_le_bytes());
                writer.put(segment.window.to_le_bytes());
                writer.put(segment.timestamp.as_ns().to_le_bytes());
                let timestamp_echo = segment.timestamp_echo.map_or(NO_TIME, SimTime::as_ns);
                writer.put(timestamp_echo.to_le_bytes());
                for (start, end) in segment.sack.iter() {
                    writer.put(start.to_le_bytes());
                    writer.put(end.to_le_bytes());
                }
            }
        }
        use_bytes(&writer.bytes[..writer.length])
    }

    /// Decodes a packet; `None` when `bytes` hold none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = FieldReader(bytes);
        let [flags] = reader.take()?;
        let flow = u32::from_le_bytes(reader.take()?);
        let to = if flags & flag::TO_RESPONDER == 0 {
            FlowSide::Initiator
        } else {
            FlowSide::Responder
        };
        let body = if flags & flag::DATAGRAM == 0 {
            let mut segment = TcpSegment {
                syn: flags & flag::SYN != 0,
                ack: flags & flag::ACK != 0,
                psh: flags & flag::PSH != 0,
                sequence: reader.u64()?,
                length: u32::from_le_bytes(reader.take()?),
                acknowledgment: reader.u64()?,
                window: reader.u64()?,
                timestamp: SimTime::from_ns(reader.u64()?),
                timestamp_echo: Some(reader.u64()?)
                    .filter(|ns| *ns != NO_TIME)
                    .map(SimTime::from_ns),
                sack: SackBlocks::new(flags & flag::DSACK != 0),
            };
            while let (Some(start), Some(end)) = (reader.u64(), reader.u64()) {
                segment.sack.push((start, end));
            }
            PacketBody::Segment(segment)
        } else {
            PacketBody::Datagram(DatagramFragment {
                datagram: reader.u64()?,
                sent: SimTime::from_ns(reader.u64()?),
                index: u16::from_le_bytes(reader.take()?),
                count: u16::from_le_bytes(reader.take()?),
            })
        };
        Some(Self { flow, to, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_encoded_packet_decodes_to_itself(
            flow: u32, to_responder: bool, numbers in prop::array::uniform6(0..u64::MAX), length: u32, flags: (bool, bool, bool, bool),
            blocks in prop::collection::vec((any::<u64>(), any::<u64>()), 0..=SackBlocks::MAX), is_datagram: bool, index: u16,
        ) {
            let [a, b, c, d, e, f] = numbers;
            let to = if to_responder { FlowSide::Responder } else { FlowSide::Initiator };
            let body = if is_datagram {
                PacketBody::Datagram(DatagramFragment { datagram: a, sent: SimTime::from_ns(b), index, count: !index })
            } else {
                let mut sack = SackBlocks::new(flags.2);
                for block in blocks {
                    sack.push(block);
                }
                PacketBody::Segment(TcpSegment {
                    sequence: a,
                    length,
                    acknowledgment: b,
                    window: c,
                    timestamp: SimTime::from_ns(d),
                    timestamp_echo: (f % 2 == 0).then_some(SimTime::from_ns(e)),
                    syn: flags.0,
                    ack: flags.1,
                    psh: flags.3,
                    sack,
                })
            };
            let packet = Packet { flow, to, body };
            prop_assert_eq!(packet.encode(Packet::decode), Some(packet));
        }

        #[test]
        fn any_bytes_decode_to_a_packet_or_to_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Packet::decode(&bytes);
        }
    }
}
