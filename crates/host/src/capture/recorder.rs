//! Captured frames on their way into a file.

use caudal_capture::{
    FrameOrigin, GsoKind, GsoRecord, InterfaceDescription, InterfaceStatistics, LinkType,
    PcapngEncoder, WrittenFrame,
};
use caudal_sys::packet::{CaptureCounters, FirstHeader, ObservedFrame};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};

/// Bytes encoded between two writes.
const BATCH: usize = 256 << 10;

/// Frames held back for sorting: several processors may hand theirs over a little out of order.
const HELD: usize = 64;

/// A frame that is held back.
struct HeldFrame {
    bytes: Vec<u8>,
    at_ns: u64,
    original_bytes: u32,
    origin: FrameOrigin,
    gso: Option<GsoRecord>,
}

/// The file of a capture as it grows.
pub(super) struct CaptureRecorder {
    file: File,
    encoder: PcapngEncoder,
    /// By their times.
    held: VecDeque<HeldFrame>,
    spare: Option<Vec<u8>>,
    /// The frames that were taken in.
    pub(super) frames: u64,
    /// The bytes they had.
    pub(super) bytes: u64,
    /// The error that ended the writing: what comes later is not kept.
    pub(super) failure: Option<io::Error>,
}

impl CaptureRecorder {
    /// Begins a file, which holds its headers from then on.
    pub(super) fn new(
        file: File,
        program: &str,
        comment: &str,
        interface: &InterfaceDescription<'_>,
    ) -> io::Result<Self> {
        let mut encoder = PcapngEncoder::new(program, comment);
        encoder.interface(interface);
        let mut recorder = Self {
            file,
            encoder,
            held: VecDeque::with_capacity(HELD + 1),
            spare: None,
            frames: 0,
            bytes: 0,
            failure: None,
        };
        recorder.write();
        match recorder.failure.take() {
            Some(cause) => Err(cause),
            None => Ok(recorder),
        }
    }

    /// Takes in a frame.
    pub(super) fn frame(&mut self, frame: &ObservedFrame<'_>) {
        if self.failure.is_some() {
            return;
        }
        let virtio = frame.virtio;
        let kind = GsoKind::from_number(virtio.gso_type).filter(|_| virtio.gso_size > 0);
        let mut bytes = self.spare.take().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(frame.bytes);
        let held = HeldFrame {
            bytes,
            at_ns: frame.realtime_ns,
            original_bytes: frame.original_bytes,
            origin: if frame.is_outgoing {
                FrameOrigin::Sent
            } else {
                FrameOrigin::Received
            },
            gso: kind.map(|kind| GsoRecord {
                kind,
                size: virtio.gso_size,
            }),
        };
        let later = self.held.iter().rev();
        let later = later.take_while(|one| one.at_ns > held.at_ns).count();
        self.held.insert(self.held.len() - later, held);
        self.frames += 1;
        self.bytes += u64::from(frame.original_bytes);
        if self.held.len() > HELD {
            self.encode_first();
        }
    }

    /// Encodes the first of the frames that are held back.
    fn encode_first(&mut self) {
        let Some(frame) = self.held.pop_front() else {
            return;
        };
        self.encoder.frame(&WrittenFrame {
            interface: 0,
            at_ns: frame.at_ns,
            original_bytes: frame.original_bytes,
            data: &frame.bytes,
            origin: frame.origin,
            gso: frame.gso,
            comment: "",
        });
        self.spare = Some(frame.bytes);
        if self.encoder.bytes().len() >= BATCH {
            self.write();
        }
    }

    /// Ends the file with the counters of its interface.
    pub(super) fn finish(&mut self, at_ns: u64, counters: CaptureCounters) {
        while !self.held.is_empty() {
            self.encode_first();
        }
        self.encoder.statistics(&InterfaceStatistics {
            interface: 0,
            at_ns,
            received: counters.seen,
            dropped: counters.dropped,
        });
        self.write();
    }

    fn write(&mut self) {
        if self.failure.is_none() {
            self.failure = self.file.write_all(self.encoder.bytes()).err();
        }
        self.encoder.clear();
    }
}

/// The link type of files for frames that begin like this.
pub(super) const fn link_type(first_header: FirstHeader) -> LinkType {
    match first_header {
        FirstHeader::Ethernet => LinkType::Ethernet,
        FirstHeader::Ip => LinkType::Raw,
    }
}
