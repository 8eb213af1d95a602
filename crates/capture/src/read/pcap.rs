//! The classic format of tcpdump.
//!
//! Source: draft-ietf-opsawg-pcap: a header of 24 bytes, then records of 16 bytes and the frame.

use super::frame::{CapturedFrame, FrameOrigin};
use super::header::{FileHeader, FileInterface};
use super::link_type::LinkType;
use super::section::MAX_INTERFACES;
use super::time::TimeScale;
use crate::bytes::{ByteOrder, be32};
use crate::error::CaptureError;
use crate::model::CaptureFormat;

/// Bytes of the file's header.
pub(crate) const HEADER_BYTES: usize = 24;
/// Bytes in front of a frame.
pub(crate) const RECORD_BYTES: usize = 16;
/// Maximum plausible frame, bytes: above the largest of BIG TCP (512 KiB).
pub(crate) const MAX_FRAME_BYTES: u32 = 4 << 20;

/// Whether the first four bytes, big-endian, are those of a pcap file, and in which form.
pub(crate) const fn recognise(magic: u32) -> Option<(ByteOrder, CaptureFormat)> {
    Some(match magic {
        0xA1B2_C3D4 => (ByteOrder::Big, CaptureFormat::PcapMicroseconds),
        0xD4C3_B2A1 => (ByteOrder::Little, CaptureFormat::PcapMicroseconds),
        0xA1B2_3C4D => (ByteOrder::Big, CaptureFormat::PcapNanoseconds),
        0x4D3C_B2A1 => (ByteOrder::Little, CaptureFormat::PcapNanoseconds),
        _ => return None,
    })
}

/// Reads the header of [`HEADER_BYTES`].
pub(crate) fn read_header(bytes: &[u8], order: ByteOrder, format: CaptureFormat) -> FileHeader {
    let mut header = FileHeader::new(format, order);
    header.interfaces.push(interface(bytes, order, format));
    header
}

/// The interface that a header describes.
fn interface(bytes: &[u8], order: ByteOrder, format: CaptureFormat) -> FileInterface {
    let scale = match format {
        CaptureFormat::PcapNanoseconds => TimeScale::from_resolution(9),
        _ => None,
    };
    // The upper bits of the link type's word tell of check sequences.
    let link_type = LinkType::from_number(order.u32(bytes, 20) as u16);
    FileInterface::new(
        link_type,
        order.u32(bytes, 16),
        scale.unwrap_or(TimeScale::MICROSECONDS),
    )
}

/// Whether a file header stands where a record is expected, as after `cat a.pcap b.pcap`; `None` while that cannot be determined.
///
/// As a record, its time would lie in the middle of the 21st century to the microsecond of the format's version, 2.4.
#[inline]
pub(crate) fn begins_another(bytes: &[u8]) -> Option<bool> {
    let Some((order, _)) = recognise(be32(bytes, 0)) else {
        return Some(false);
    };
    let version = bytes.get(4..8)?;
    Some((order.u16(version, 0), order.u16(version, 2)) == (2, 4))
}

/// Reads the header of another capture in the same file; `false` when there are too many interfaces.
pub(crate) fn read_another(bytes: &[u8], header: &mut FileHeader) -> bool {
    let Some((order, format)) = recognise(be32(bytes, 0)) else {
        return false;
    };
    if header.interfaces.len() >= MAX_INTERFACES {
        return false;
    }
    header.begin_capture(format, order);
    header.interfaces.push(interface(bytes, order, format));
    true
}

/// The bytes of the record that `bytes` begin with; `None` while its header is not complete.
#[inline]
pub(crate) fn record_bytes(
    bytes: &[u8],
    order: ByteOrder,
    offset: u64,
) -> Result<Option<usize>, CaptureError> {
    if bytes.len() < RECORD_BYTES {
        return Ok(None);
    }
    let (captured, original) = (order.u32(bytes, 8), order.u32(bytes, 12));
    if captured.max(original) > MAX_FRAME_BYTES {
        let what = "the record claims a frame of more than 4 MiB";
        return Err(CaptureError::Damaged { offset, what });
    }
    Ok(Some(RECORD_BYTES + captured as usize))
}

/// Reads one complete record.
#[inline]
pub(crate) fn read_record<'a>(bytes: &'a [u8], header: &mut FileHeader) -> CapturedFrame<'a> {
    let order = header.order;
    let nanoseconds = header.current == CaptureFormat::PcapNanoseconds;
    let fraction = u64::from(order.u32(bytes, 4)) * if nanoseconds { 1 } else { 1_000 };
    let at_ns = u64::from(order.u32(bytes, 0)) * 1_000_000_000 + fraction;
    let link_type = match header.interfaces.get_mut(header.base) {
        Some(interface) => {
            interface.frames += 1;
            interface.link_type
        }
        None => LinkType::Other(u16::MAX),
    };
    let data = &bytes[RECORD_BYTES..];
    CapturedFrame {
        interface: header.base as u32,
        capture: header.capture,
        link_type,
        at_ns: Some(at_ns),
        original_bytes: order.u32(bytes, 12).max(data.len() as u32),
        data,
        origin: FrameOrigin::Unknown,
        gso: None,
    }
}
