//! A flow of datagrams followed one by one.

use super::numbers::NumberAccount;
use super::recognise::{NumberFormat, is_iperf3_hello, is_quic};
use crate::frame_rate::rate_of_frames;
use crate::model::{
    DatagramSizeRange, FrameDirection, RecognisedProtocol, UdpAnalysis, UdpDirectionAnalysis,
};
use crate::read::{GsoKind, GsoRecord};
use crate::responses::{NewPayload, ResponseTracker};
use crate::sketch::TimeSketch;
use caudal_core::units::ByteCount;

/// One captured datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrackedDatagram<'a> {
    pub(crate) at_ns: u64,
    pub(crate) payload_bytes: u32,
    /// What was kept of the payload.
    pub(crate) payload: &'a [u8],
    pub(crate) fragmented: bool,
    pub(crate) gso: Option<GsoRecord>,
}

/// More datagrams than one frame holds: `UDP_MAX_SEGMENTS` of Linux is 128, include/linux/udp.h.
const MAX_DATAGRAMS: u64 = 1024;

impl TrackedDatagram<'_> {
    /// The payload of each datagram in a frame of several but for the last; `None` for a frame of one.
    fn split_bytes(&self) -> Option<u32> {
        let gso = self
            .gso
            .filter(|gso| gso.kind == GsoKind::UdpDatagrams && gso.size > 0)?;
        let (bytes, size) = (self.payload_bytes, u32::from(gso.size));
        // A file can say anything.
        (size < bytes && u64::from(bytes.div_ceil(size)) <= MAX_DATAGRAMS).then_some(size)
    }

    /// The datagrams that the frame holds.
    fn datagrams(&self) -> u64 {
        let split = self.split_bytes();
        split.map_or(1, |size| u64::from(self.payload_bytes.div_ceil(size)))
    }

    /// The payload of the smallest of them, the last, and of the largest.
    fn sizes(&self) -> (u32, u32) {
        let bytes = self.payload_bytes;
        self.split_bytes()
            .map_or((bytes, bytes), |size| ((bytes - 1) % size + 1, size))
    }
}

/// Bytes of a datagram's payload that are compared with the next one's.
const KEPT: usize = 32;

/// A format that fits so far.
#[derive(Debug, Clone, Copy)]
struct Candidates {
    previous: [u8; KEPT],
    length: usize,
    /// The datagrams in the previous frame.
    previous_datagrams: u64,
    fits: [u8; NumberFormat::ALL.len()],
    /// The numbers in the frames that fit.
    chains: [[NumberRun; 5]; NumberFormat::ALL.len()],
    tried: u32,
}

/// The numbers of the datagrams in one frame: that of the first, which alone is read, and of how many they are.
///
/// A sender's kernel splits what it was given in one call, so that the numbers follow one another. Where a receiver's kernel has joined datagrams
/// of which one was lost, the number in the next frame shows it.
#[derive(Debug, Clone, Copy, Default)]
struct NumberRun {
    first: u64,
    datagrams: u64,
}

/// One direction of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct UdpHalf {
    /// Datagrams that were whole or whose fragments were, several in a frame counted as one.
    frames: u64,
    datagrams: u64,
    payload: u64,
    min: u32,
    max: u32,
    first_ns: u64,
    last_ns: u64,
    gaps: TimeSketch,
    /// The clock was set since the latest datagram.
    gap_is_unknown: bool,
    fragmented: u64,
    pub(crate) incomplete: u64,
    super_packets: u64,
    candidates: Option<Box<Candidates>>,
    format: Option<NumberFormat>,
    account: Option<NumberAccount>,
    /// The latest number with all its 64 bits.
    latest: u64,
}

/// Maximum datagrams before a format must be recognised.
const MAX_TRIED: u32 = 64;

/// The state of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct UdpTracker {
    pub(crate) client: UdpHalf,
    pub(crate) server: UdpHalf,
    responses: ResponseTracker,
    pub(crate) application: Option<RecognisedProtocol>,
}

impl UdpTracker {
    /// Takes in a datagram.
    #[inline]
    pub(crate) fn datagram(&mut self, direction: FrameDirection, datagram: &TrackedDatagram<'_>) {
        let half = match direction {
            FrameDirection::ToServer => &mut self.client,
            FrameDirection::ToClient => &mut self.server,
        };
        if self.application.is_none() {
            if is_iperf3_hello(datagram.payload, datagram.payload_bytes) {
                self.application = Some(RecognisedProtocol::Iperf3Udp);
            } else if half.frames < 4 && is_quic(datagram.payload) {
                self.application = Some(RecognisedProtocol::Quic);
            }
        }
        half.count(datagram);
        let has_numbers = self.application != Some(RecognisedProtocol::Quic);
        if has_numbers && !is_iperf3_hello(datagram.payload, datagram.payload_bytes) {
            half.number(datagram);
        }
        self.application = self.application.or(half.format.map(NumberFormat::protocol));
        self.responses.push(&NewPayload {
            direction,
            at_ns: datagram.at_ns,
            bytes: u64::from(datagram.payload_bytes),
            push: true,
            acks_all: true,
        });
    }

    /// The clock was set: no time since what was captured before is known.
    pub(crate) fn forget_times(&mut self) {
        for half in [&mut self.client, &mut self.server] {
            half.gap_is_unknown = true;
            if let Some(account) = &mut half.account {
                account.forget_transit();
            }
        }
        self.responses.forget_open();
    }

    /// The analysis.
    pub(crate) fn document(&self) -> UdpAnalysis {
        // A flow of datagrams does not tell where it was captured.
        let turns = self.responses.document(false);
        // One-way streams with an odd report back take no turns.
        let frames = self.client.frames + self.server.frames;
        UdpAnalysis {
            to_server: self.client.document(),
            to_client: self.server.document(),
            responses: turns.filter(|turns| turns.exchanges * 4 >= frames),
        }
    }
}

impl UdpHalf {
    #[inline]
    fn count(&mut self, datagram: &TrackedDatagram<'_>) {
        let (min, max) = datagram.sizes();
        if self.frames == 0 {
            (self.min, self.first_ns) = (min, datagram.at_ns);
        } else if !std::mem::take(&mut self.gap_is_unknown) {
            self.gaps.push(datagram.at_ns.saturating_sub(self.last_ns));
        }
        self.last_ns = datagram.at_ns;
        self.min = self.min.min(min);
        self.max = self.max.max(max);
        self.frames += 1;
        let datagrams = datagram.datagrams();
        self.datagrams += datagrams;
        self.payload += u64::from(datagram.payload_bytes);
        self.fragmented += u64::from(datagram.fragmented);
        self.super_packets += u64::from(datagrams > 1);
    }

    /// Takes in the number of a datagram, or looks for the format of numbers.
    #[inline]
    fn number(&mut self, datagram: &TrackedDatagram<'_>) {
        let Some(format) = self.format else {
            self.try_formats(datagram);
            return;
        };
        let Some(found) = format.read(datagram.payload) else {
            return;
        };
        let run = NumberRun {
            first: found.number,
            datagrams: datagram.datagrams(),
        };
        self.push_run(run, format);
        if let (Some(account), Some(sent)) = (&mut self.account, found.sent_ns) {
            account.transit(datagram.at_ns.wrapping_sub(sent).cast_signed());
        }
    }

    /// Takes in the numbers of the datagrams in a frame.
    fn push_run(&mut self, run: NumberRun, format: NumberFormat) {
        let first = self.complete(run.first, format.bits());
        let end = first.saturating_add(run.datagrams);
        self.latest = self.latest.max(end.saturating_sub(1));
        if let Some(account) = &mut self.account {
            (first..end).for_each(|number| account.push(number));
        }
    }

    /// A number of few bits as the one nearest to the latest.
    fn complete(&self, number: u64, bits: u32) -> u64 {
        if bits == 64 || self.account.is_none() {
            return number;
        }
        let span = 1_u64 << bits;
        let base = self.latest & !(span - 1);
        let near = base | number;
        if near + span / 2 < self.latest {
            near + span
        } else if near > self.latest + span / 2 && near >= span {
            near - span
        } else {
            near
        }
    }

    fn try_formats(&mut self, datagram: &TrackedDatagram<'_>) {
        let payload = datagram.payload;
        let candidates = self.candidates.get_or_insert_with(|| {
            Box::new(Candidates {
                previous: [0; KEPT],
                length: 0,
                previous_datagrams: 1,
                fits: [0; NumberFormat::ALL.len()],
                chains: [[NumberRun::default(); 5]; NumberFormat::ALL.len()],
                tried: 0,
            })
        });
        if candidates.tried >= MAX_TRIED {
            return;
        }
        candidates.tried += 1;
        let mut believed = None;
        let previous = &candidates.previous[..candidates.length];
        for (at, format) in NumberFormat::ALL.into_iter().enumerate() {
            let Some(found) = format.read(payload) else {
                candidates.fits[at] = 0;
                continue;
            };
            let fits = match format.follows(previous, candidates.previous_datagrams, payload) {
                true => candidates.fits[at] + 1,
                false => 0,
            };
            candidates.fits[at] = fits;
            candidates.chains[at][usize::from(fits.min(4))] = NumberRun {
                first: found.number,
                datagrams: datagram.datagrams(),
            };
            if fits >= format.needed() {
                believed = Some((format, candidates.chains[at], usize::from(fits)));
                break;
            }
        }
        candidates.previous_datagrams = datagram.datagrams();
        candidates.length = payload.len().min(KEPT);
        candidates.previous[..candidates.length].copy_from_slice(&payload[..candidates.length]);
        if let Some((format, chain, fits)) = believed {
            self.believe(format, &chain[..=fits.min(4)]);
        }
    }

    /// Begins the account with the numbers of the frames in which the format showed itself.
    fn believe(&mut self, format: NumberFormat, chain: &[NumberRun]) {
        let Some((first, rest)) = chain.split_first() else {
            return;
        };
        self.format = Some(format);
        self.candidates = None;
        self.latest = first.first;
        self.account = Some(NumberAccount::new(first.first));
        let after = NumberRun {
            first: first.first.saturating_add(1),
            datagrams: first.datagrams - 1,
        };
        self.push_run(after, format);
        for run in rest {
            self.push_run(*run, format);
        }
    }

    fn document(&self) -> UdpDirectionAnalysis {
        let ns = self.last_ns.saturating_sub(self.first_ns);
        UdpDirectionAnalysis {
            datagrams: self.datagrams,
            sizes: (self.datagrams > 0).then(|| DatagramSizeRange {
                min_bytes: ByteCount::new(u64::from(self.min)),
                mean_bytes: self.payload as f64 / self.datagrams as f64,
                max_bytes: ByteCount::new(u64::from(self.max)),
            }),
            payload_rate_bps: rate_of_frames(self.payload, self.frames, ns),
            gaps: self.gaps.document(),
            fragmented: self.fragmented,
            incomplete: self.incomplete,
            super_packets: self.super_packets,
            numbers: self.account.as_ref().map(NumberAccount::document),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A flow of frames of caudal's datagrams of 64 bytes, of which 32 are kept: their first number, and of how many they are.
    fn flow(frames: &[(u64, u32)]) -> UdpDirectionAnalysis {
        let mut tracker = UdpTracker::default();
        for (at_ns, (number, datagrams)) in (0..).step_by(1_000_000).zip(frames) {
            let mut payload = [0; 32];
            payload[..4].copy_from_slice(&0xCA0D_A105_u32.to_be_bytes());
            payload[8..16].copy_from_slice(&number.to_be_bytes());
            let gso = GsoRecord {
                kind: GsoKind::UdpDatagrams,
                size: 64,
            };
            tracker.datagram(
                FrameDirection::ToServer,
                &TrackedDatagram {
                    at_ns,
                    payload_bytes: datagrams * 64,
                    payload: &payload,
                    fragmented: false,
                    gso: (*datagrams > 1).then_some(gso),
                },
            );
        }
        tracker.document().to_server
    }

    #[test]
    fn every_datagram_in_a_frame_of_several_has_arrived() {
        for frames in [
            vec![(0, 1), (1, 1), (2, 2), (4, 3), (7, 1), (8, 5)],
            (0..100).map(|frame| (frame * 128, 128)).collect(),
        ] {
            let last = frames[frames.len() - 1];
            let sent = last.0 + u64::from(last.1);
            let side = flow(&frames);
            let numbers = side.numbers.unwrap();
            assert_eq!((numbers.received, numbers.lost), (sent, 0), "{frames:?}");
            assert_eq!((numbers.reordered, numbers.duplicates), (0, 0));
            assert_eq!(side.datagrams, sent);
            let sizes = side.sizes.unwrap();
            assert_eq!((sizes.max_bytes.get(), sizes.mean_bytes), (64, 64.0));
        }
    }

    #[test]
    fn a_datagram_missing_within_a_frame_or_between_two_is_lost() {
        let numbers = flow(&[(0, 4), (4, 4), (9, 4), (15, 4)]).numbers.unwrap();
        assert_eq!((numbers.expected, numbers.lost), (19, 3));
    }
}
