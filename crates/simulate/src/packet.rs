//! What travels: a segment, a datagram or an announcement, in a few bytes of a frame.

use caudal_link::moment::Moment;

use crate::tcp::segment::{Blocks, Segment};

/// One of the two ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// Where the flow begins.
    Near,
    /// Where it leads.
    Far,
}

impl End {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// A datagram or one of its IP fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Datagram {
    /// Counted from 0.
    pub(crate) number: u64,
    /// When its application sent it.
    pub(crate) sent: Moment,
    /// Which fragment this is.
    pub(crate) piece: u16,
    /// How many there are.
    pub(crate) pieces: u16,
}

/// What a packet carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Segment(Segment),
    Datagram(Datagram),
}

/// A packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// The flow, by its place in the scenario.
    pub(crate) flow: u32,
    /// The end it is for.
    pub(crate) toward: End,
    pub(crate) body: Body,
}

/// The most bytes a packet takes.
const ROOM: usize = 128;
const NO_MOMENT: u64 = u64::MAX;

mod flag {
    pub(super) const FAR: u8 = 1;
    pub(super) const DATAGRAM: u8 = 2;
    pub(super) const SYN: u8 = 4;
    pub(super) const ACK: u8 = 8;
    pub(super) const REPEATED: u8 = 16;
    pub(super) const PUSHED: u8 = 32;
}

/// Numbers one behind the other, little end first.
struct Writer {
    bytes: [u8; ROOM],
    length: usize,
}

impl Writer {
    fn put<const N: usize>(&mut self, number: [u8; N]) {
        self.bytes[self.length..self.length + N].copy_from_slice(&number);
        self.length += N;
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
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
    /// Hands `use_bytes` the bytes that [`Self::decode`] reads.
    pub(crate) fn encode<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        let mut writer = Writer {
            bytes: [0; ROOM],
            length: 0,
        };
        let mut flags = if self.toward == End::Far {
            flag::FAR
        } else {
            0
        };
        match &self.body {
            Body::Datagram(datagram) => {
                flags |= flag::DATAGRAM;
                writer.put([flags]);
                writer.put(self.flow.to_le_bytes());
                writer.put(datagram.number.to_le_bytes());
                writer.put(datagram.sent.ns().to_le_bytes());
                writer.put(datagram.piece.to_le_bytes());
                writer.put(datagram.pieces.to_le_bytes());
            }
            Body::Segment(segment) => {
                flags |= if segment.syn { flag::SYN } else { 0 };
                flags |= if segment.acknowledges { flag::ACK } else { 0 };
                flags |= if segment.pushed { flag::PUSHED } else { 0 };
                if segment.blocks.first_repeats() {
                    flags |= flag::REPEATED;
                }
                writer.put([flags]);
                writer.put(self.flow.to_le_bytes());
                writer.put(segment.sequence.to_le_bytes());
                writer.put(segment.length.to_le_bytes());
                writer.put(segment.acknowledged.to_le_bytes());
                writer.put(segment.window.to_le_bytes());
                writer.put(segment.sent.ns().to_le_bytes());
                let echoed = segment.echoed.map_or(NO_MOMENT, Moment::ns);
                writer.put(echoed.to_le_bytes());
                for (start, end) in segment.blocks.iter() {
                    writer.put(start.to_le_bytes());
                    writer.put(end.to_le_bytes());
                }
            }
        }
        use_bytes(&writer.bytes[..writer.length])
    }

    /// The packet in `bytes`; `None` when there is none.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let [flags] = reader.take()?;
        let flow = u32::from_le_bytes(reader.take()?);
        let toward = if flags & flag::FAR == 0 {
            End::Near
        } else {
            End::Far
        };
        let body = if flags & flag::DATAGRAM == 0 {
            let mut segment = Segment {
                syn: flags & flag::SYN != 0,
                acknowledges: flags & flag::ACK != 0,
                pushed: flags & flag::PUSHED != 0,
                sequence: reader.u64()?,
                length: u32::from_le_bytes(reader.take()?),
                acknowledged: reader.u64()?,
                window: reader.u64()?,
                sent: Moment::from_ns(reader.u64()?),
                echoed: Some(reader.u64()?)
                    .filter(|ns| *ns != NO_MOMENT)
                    .map(Moment::from_ns),
                blocks: Blocks::none(flags & flag::REPEATED != 0),
            };
            while let (Some(start), Some(end)) = (reader.u64(), reader.u64()) {
                segment.blocks.push((start, end));
            }
            Body::Segment(segment)
        } else {
            Body::Datagram(Datagram {
                number: reader.u64()?,
                sent: Moment::from_ns(reader.u64()?),
                piece: u16::from_le_bytes(reader.take()?),
                pieces: u16::from_le_bytes(reader.take()?),
            })
        };
        Some(Self { flow, toward, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packet_is_what_its_bytes_say(
            flow: u32, far: bool, numbers in prop::array::uniform6(0..u64::MAX), length: u32, flags: (bool, bool, bool, bool),
            blocks in prop::collection::vec((any::<u64>(), any::<u64>()), 0..=Blocks::MOST), datagram: bool, piece: u16,
        ) {
            let [a, b, c, d, e, f] = numbers;
            let toward = if far { End::Far } else { End::Near };
            let body = if datagram {
                Body::Datagram(Datagram { number: a, sent: Moment::from_ns(b), piece, pieces: !piece })
            } else {
                let mut kept = Blocks::none(flags.2);
                for block in blocks {
                    kept.push(block);
                }
                Body::Segment(Segment {
                    sequence: a,
                    length,
                    acknowledged: b,
                    window: c,
                    sent: Moment::from_ns(d),
                    echoed: (f % 2 == 0).then_some(Moment::from_ns(e)),
                    syn: flags.0,
                    acknowledges: flags.1,
                    pushed: flags.3,
                    blocks: kept,
                })
            };
            let packet = Packet { flow, toward, body };
            prop_assert_eq!(packet.encode(Packet::decode), Some(packet));
        }

        #[test]
        fn any_bytes_are_a_packet_or_none(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Packet::decode(&bytes);
        }
    }
}
