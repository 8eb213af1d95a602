//! Segments on the wire, derived from the frames that were captured.

use super::segment::TrackedSegment;
use crate::model::{SegmentSizeSource, SegmentationAnalysis};
use crate::size_counter::SizeCounter;
use caudal_core::units::ByteCount;

/// Header of an Ethernet frame, check sequence, preamble with start delimiter, and gap (IEEE 802.3).
const ETHERNET_BYTES: u64 = 14 + 4 + 20;
/// Smallest frame of 64 bytes with preamble and gap.
const MIN_WIRE_BYTES: u64 = 84;
/// The MTU of Ethernet.
const ETHERNET_MTU: u32 = 1500;
/// Largest plausible jumbo frame, bytes; larger packets are several segments.
const MAX_JUMBO: u32 = 9216;
/// Maximum number of frame sizes judged at the end.
const MAX_UNDECIDED: usize = 512;

/// Frames whose number of segments cannot be determined before the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Undecided {
    payload: u32,
    /// Headers and gaps of each segment.
    around: u32,
    /// Headers of IP and TCP.
    headers: u32,
    frames: u64,
}

/// The segments of one direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct SegmentCounter {
    super_packets: u64,
    max_frame: u32,
    /// Frames with payload by their bytes.
    frames: SizeCounter,
    wire_segments: u64,
    wire_frames: u64,
    wire_bytes: u64,
    payload: u64,
    source: Option<SegmentSizeSource>,
    /// The payload of a full segment, as the kernel or the handshake gives it.
    segment: Option<u32>,
    /// The largest payload of a frame that is no super-packet, with the bytes around it.
    max_single: u32,
    around_max: u32,
    undecided: Vec<Undecided>,
}

fn wire_bytes(payload: u64, segments: u64, segment: u64, around: u64) -> u64 {
    if segments <= 1 {
        return (payload + around).max(MIN_WIRE_BYTES);
    }
    let last = payload.saturating_sub((segments - 1) * segment);
    (segments - 1) * (segment + around) + (last + around).max(MIN_WIRE_BYTES)
}

impl SegmentCounter {
    /// Counts a frame, and returns its number of segments as far as it is known. `mss` is that of the handshake.
    #[inline]
    pub(crate) fn push(&mut self, frame: &TrackedSegment<'_>, mss: Option<u16>) -> u32 {
        let payload = frame.payload_bytes;
        let headers = frame.ip.header_bytes + frame.header.header_bytes;
        let around = ETHERNET_BYTES as u32 + headers + frame.encapsulation_bytes;
        self.max_frame = self.max_frame.max(frame.frame_bytes);
        self.payload += u64::from(payload);
        if payload > 0 {
            self.frames.add(frame.frame_bytes.into());
        }
        let options = frame.header.header_bytes - 20;
        let (size, source) = match (frame.gso, mss) {
            (Some(gso), _) => (Some(u32::from(gso.size)), SegmentSizeSource::Gso),
            (None, Some(mss)) => (
                Some(u32::from(mss).saturating_sub(options)),
                SegmentSizeSource::Handshake,
            ),
            (None, None) => (None, SegmentSizeSource::Observed),
        };
        match size.filter(|size| *size > 0) {
            Some(size) if payload > size => {
                self.segment = Some(self.segment.unwrap_or(0).max(size));
                self.source = self
                    .source
                    .filter(|known| *known == SegmentSizeSource::Gso)
                    .or(Some(source));
                self.around_max = self.around_max.max(around);
                return self.count(payload, size, around, 1);
            }
            None if payload + headers > ETHERNET_MTU => {
                return self.postpone(payload, around, headers);
            }
            Some(size) if payload > 0 && source == SegmentSizeSource::Handshake => {
                self.segment = Some(self.segment.unwrap_or(0).max(size));
                self.source = self.source.or(Some(source));
            }
            _ => {}
        }
        if payload > self.max_single {
            (self.max_single, self.around_max) = (payload, self.around_max.max(around));
        }
        self.count(payload, payload.max(1), around, 1)
    }

    fn count(&mut self, payload: u32, size: u32, around: u32, frames: u64) -> u32 {
        let segments = payload.div_ceil(size).max(1);
        self.super_packets += if segments > 1 { frames } else { 0 };
        self.wire_segments += if payload > 0 {
            u64::from(segments) * frames
        } else {
            0
        };
        self.wire_frames += u64::from(segments) * frames;
        let (payload, size) = (u64::from(payload), u64::from(size));
        self.wire_bytes +=
            frames * wire_bytes(payload, u64::from(segments), size, u64::from(around));
        segments
    }

    /// Keeps a large frame until the end, when the sizes of all of them are known.
    fn postpone(&mut self, payload: u32, around: u32, headers: u32) -> u32 {
        let same = |known: &&mut Undecided| (known.payload, known.around) == (payload, around);
        if let Some(known) = self.undecided.iter_mut().find(same) {
            known.frames += 1;
        } else if self.undecided.len() < MAX_UNDECIDED {
            self.undecided.push(Undecided {
                payload,
                around,
                headers,
                frames: 1,
            });
        } else {
            let size = ETHERNET_MTU.saturating_sub(headers).max(1);
            self.source = Some(SegmentSizeSource::Assumed);
            return self.count(payload, size, around, 1);
        }
        1
    }

    /// Decides on the frames kept: they hold multiples of the largest segment seen alone, are jumbo frames, or an MTU is assumed.
    fn decide(&mut self) {
        let undecided = std::mem::take(&mut self.undecided);
        let Some(largest) = undecided.iter().max_by_key(|frame| frame.payload).copied() else {
            return;
        };
        let frames: u64 = undecided.iter().map(|frame| frame.frames).sum();
        let alone = self.max_single;
        let multiples: u64 = undecided
            .iter()
            .filter(|frame| alone > 0 && frame.payload % alone == 0)
            .map(|frame| frame.frames)
            .sum();
        let (size, source) = if alone >= 500 && multiples * 2 >= frames {
            (alone, SegmentSizeSource::Observed)
        } else if largest.payload + largest.headers <= MAX_JUMBO && largest.frames * 2 >= frames {
            (largest.payload, SegmentSizeSource::Observed)
        } else {
            let assumed = ETHERNET_MTU.saturating_sub(largest.headers).max(1);
            (assumed, SegmentSizeSource::Assumed)
        };
        self.segment = Some(size);
        self.source = self.source.or(Some(source));
        self.around_max = self.around_max.max(largest.around);
        for frame in undecided {
            self.count(frame.payload, size, frame.around, frame.frames);
        }
    }

    /// The analysis, without what made the super-packets.
    pub(crate) fn document(&self) -> SegmentationAnalysis {
        let mut decided = self.clone();
        decided.decide();
        let segment = decided
            .segment
            .or((decided.max_single > 0).then_some(decided.max_single));
        let source = decided
            .source
            .or(segment.map(|_| SegmentSizeSource::Observed));
        let share = |payload: u64, bytes: u64| (payload > 0).then(|| payload as f64 / bytes as f64);
        let full = segment.map_or(0, u64::from);
        SegmentationAnalysis {
            super_packets: decided.super_packets,
            max_frame_bytes: decided.max_frame,
            usual_frame_bytes: self.frames.most_frequent().map(|bytes| bytes as u32),
            segment_bytes: segment,
            segment_source: source,
            wire_segments: decided.wire_segments,
            wire_frames: decided.wire_frames,
            wire_bytes: ByteCount::new(decided.wire_bytes),
            header_bytes: ByteCount::new(decided.wire_bytes - decided.payload),
            efficiency: share(decided.payload, decided.wire_bytes),
            predicted_efficiency: share(full, full + u64::from(decided.around_max)),
            offload: None,
            offload_reason: None,
        }
    }
}
