//! Super-frames: packets that hosts hand over to be segmented, as the frames that they are on a link.
//!
//! A super-frame is its frames: it is cut before it enters a link, every frame has its own length, and nothing in virtual time knows of the
//! whole. Frames of one super-frame that arrive next to each other can be handed to a host as one again.

use std::ops::Range;
use std::sync::Arc;

use crate::frame::Frame;
use crate::segmentation::{FrameSegment, Segmentation, SuperFrame};

impl SuperFrame {
    /// Its frames, numbered from `first_id`.
    pub fn cut(self: &Arc<Self>, first_id: u64) -> impl Iterator<Item = Frame> + use<> {
        let all = Arc::clone(self);
        let headers = Frame::with_addresses_of(first_id, self.written_headers());
        (0..self.segments).map(move |index| {
            let segment = FrameSegment {
                of: Arc::clone(&all),
                index,
            };
            headers.segment(first_id + index as u64, segment)
        })
    }
}

/// Frames of one super-frame in their order, without a gap.
#[derive(Debug, Clone)]
pub struct SegmentRun {
    of: Arc<SuperFrame>,
    segments: Range<usize>,
}

impl SegmentRun {
    /// The run of one frame; `None` when that is not of a super-frame, or was changed.
    #[must_use]
    pub fn new(frame: &Frame) -> Option<Self> {
        let segment = frame.as_segment()?;
        Some(Self {
            of: Arc::clone(&segment.of),
            segments: segment.range(),
        })
    }

    /// Adds `frame` at the end; `false` when it is not the next of the same super-frame.
    pub fn extend(&mut self, frame: &Frame) -> bool {
        let is_next = frame.as_segment().is_some_and(|segment| {
            Arc::ptr_eq(&segment.of, &self.of) && segment.index == self.segments.end
        });
        self.segments.end += usize::from(is_next);
        is_next
    }

    /// The number of frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.segments.len()
    }

    /// How the packet of its frames is to be segmented; `None` for a single frame, which is complete.
    #[must_use]
    pub fn segmentation(&self) -> Option<Segmentation> {
        (self.frames() > 1).then_some(self.of.segmentation)
    }

    /// `true` over IPv6.
    #[must_use]
    pub fn is_ipv6(&self) -> bool {
        self.of.is_ipv6
    }

    /// The headers of the packet of its frames. The checksum of several frames is to be completed for each.
    #[must_use]
    pub fn headers(&self) -> Vec<u8> {
        self.of.headers(&self.segments, self.frames() == 1)
    }

    /// The payload of the packet of its frames.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.of.payload(&self.segments)
    }
}
