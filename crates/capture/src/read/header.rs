//! The description of a file and its interfaces in it.

use super::link_type::LinkType;
use super::time::TimeScale;
use crate::bytes::ByteOrder;
use crate::model::{CaptureFormat, CaptureInterface};
use caudal_core::text::ExternalText;

/// Maximum number of comments kept of a file.
pub(crate) const MAX_COMMENTS: usize = 64;
/// Maximum bytes kept of one text: long capture filters have some hundred.
const MAX_TEXT_BYTES: usize = 1024;
/// Maximum bytes of text kept of a file.
const MAX_FILE_TEXT_BYTES: usize = 1 << 20;

/// The description of a file in it.
#[derive(Debug, Clone)]
pub(crate) struct FileHeader {
    /// The format that the file begins with.
    pub(crate) format: CaptureFormat,
    /// The format of the capture that is read; another one may follow the first.
    pub(crate) current: CaptureFormat,
    pub(crate) order: ByteOrder,
    /// The number of the capture that is read, from 0.
    pub(crate) capture: u32,
    /// The first interface of that capture.
    pub(crate) base: usize,
    pub(crate) interfaces: Vec<FileInterface>,
    pub(crate) comments: Vec<ExternalText>,
    pub(crate) hardware: Option<ExternalText>,
    pub(crate) os: Option<ExternalText>,
    pub(crate) program: Option<ExternalText>,
    text_bytes: usize,
}

impl FileHeader {
    /// A header without interfaces.
    pub(crate) const fn new(format: CaptureFormat, order: ByteOrder) -> Self {
        Self {
            format,
            current: format,
            order,
            capture: 0,
            base: 0,
            interfaces: Vec::new(),
            comments: Vec::new(),
            hardware: None,
            os: None,
            program: None,
            text_bytes: 0,
        }
    }

    /// Another capture begins, whose interfaces follow those that are known.
    pub(crate) fn begin_capture(&mut self, format: CaptureFormat, order: ByteOrder) {
        (self.current, self.order) = (format, order);
        self.base = self.interfaces.len();
        self.capture = self.capture.saturating_add(1);
    }

    /// Keeps a comment, as long as there are few.
    pub(crate) fn add_comment(&mut self, comment: &[u8]) {
        if self.comments.len() < MAX_COMMENTS {
            let text = self.keep_text(comment);
            self.comments.extend(text);
        }
    }

    /// Text of the file, cut to a length that people read; `None` where the file has more text than is kept.
    pub(crate) fn keep_text(&mut self, bytes: &[u8]) -> Option<ExternalText> {
        if self.text_bytes >= MAX_FILE_TEXT_BYTES {
            return None;
        }
        let text = text(bytes);
        self.text_bytes += text.len();
        Some(text.into())
    }
}

/// Bytes as text, at most [`MAX_TEXT_BYTES`] of them.
fn text(bytes: &[u8]) -> String {
    let Some(beginning) = bytes.get(..MAX_TEXT_BYTES).filter(|kept| *kept != bytes) else {
        return String::from_utf8_lossy(bytes).into_owned();
    };
    // The cut may lie within a character.
    let text = String::from_utf8_lossy(beginning);
    format!("{}…", text.trim_end_matches(char::REPLACEMENT_CHARACTER))
}

/// An interface of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileInterface {
    pub(crate) link_type: LinkType,
    pub(crate) snap_bytes: u32,
    pub(crate) scale: TimeScale,
    pub(crate) name: Option<ExternalText>,
    pub(crate) description: Option<ExternalText>,
    pub(crate) filter: Option<ExternalText>,
    pub(crate) frames: u64,
    pub(crate) received: Option<u64>,
    pub(crate) dropped: Option<u64>,
}

impl FileInterface {
    /// An interface of which nothing else is known.
    pub(crate) const fn new(link_type: LinkType, snap_bytes: u32, scale: TimeScale) -> Self {
        Self {
            link_type,
            snap_bytes,
            scale,
            name: None,
            description: None,
            filter: None,
            frames: 0,
            received: None,
            dropped: None,
        }
    }

    /// The interface as documents have it.
    pub(crate) fn document(&self) -> CaptureInterface {
        CaptureInterface {
            name: self.name.clone(),
            description: self.description.clone(),
            filter: self.filter.clone(),
            link_type: self.link_type.number(),
            link_name: self.link_type.name().to_owned(),
            snap_bytes: self.snap_bytes,
            resolution_ns: self.scale.resolution_ns(),
            frames: self.frames,
            received_frames: self.received,
            dropped_frames: self.dropped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_between_characters_and_a_short_one_is_whole() {
        assert_eq!(text(&[b'x'; MAX_TEXT_BYTES]).len(), MAX_TEXT_BYTES);
        let long = format!("x{}", "µ".repeat(MAX_TEXT_BYTES));
        let kept = text(long.as_bytes());
        assert_eq!(kept, format!("x{}…", "µ".repeat(MAX_TEXT_BYTES / 2 - 1)));
    }

    #[test]
    fn the_text_of_a_file_is_bounded() {
        let mut header = FileHeader::new(CaptureFormat::Pcapng, ByteOrder::Little);
        let kept = (0..2_000)
            .filter(|_| header.keep_text(&[b'x'; MAX_TEXT_BYTES]).is_some())
            .count();
        assert_eq!(kept, MAX_FILE_TEXT_BYTES / MAX_TEXT_BYTES);
    }
}
