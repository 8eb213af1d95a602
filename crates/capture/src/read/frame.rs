//! One captured frame, in the memory of the caller.

use super::gso::GsoRecord;
use super::link_type::LinkType;

/// One captured frame.
#[derive(Debug, Clone, Copy)]
pub struct CapturedFrame<'a> {
    /// The number of its interface, from 0 in each file.
    pub interface: u32,
    /// The number of its capture, from 0 in each file: several may follow one another, as pcapng's sections do.
    pub capture: u32,
    /// The format of its first header.
    pub link_type: LinkType,
    /// The time, ns since 1970; absent where the file has none (pcapng's simple packets).
    pub at_ns: Option<u64>,
    /// The bytes that it had on the link.
    pub original_bytes: u32,
    /// The bytes that were kept.
    pub data: &'a [u8],
    /// Whether the capturing host sent or received it, where the file records it.
    pub origin: FrameOrigin,
    /// What the kernel knew about its segmentation, where the file records it.
    pub gso: Option<GsoRecord>,
}

/// Where a frame came from, seen from the host that captured it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FrameOrigin {
    /// The file does not record it.
    #[default]
    Unknown,
    /// The host received it.
    Received,
    /// The host sent it.
    Sent,
}
