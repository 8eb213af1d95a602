//! The blocks of pcapng that hold frames.
//!
//! Source: draft-ietf-opsawg-pcapng.

use super::frame::{CapturedFrame, FrameOrigin};
use super::gso::GsoRecord;
use super::header::FileHeader;
use super::options::{BlockOptions, COMMENT};
use super::pcap::MAX_FRAME_BYTES;
use super::section::{read_interface, read_section, read_statistics};
use crate::bytes::{ByteOrder, be32};
use crate::error::CaptureError;
use crate::model::CaptureFormat;

/// The type of a Section Header Block: the same in either byte order.
pub(crate) const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
/// Maximum plausible block, bytes: that of Wireshark.
const MAX_BLOCK_BYTES: u32 = 16 << 20;
/// Error of a frame above [`MAX_FRAME_BYTES`].
const TOO_LARGE: &str = "the block claims a frame of more than 4 MiB";
/// `epb_flags`.
const FLAGS: u16 = 2;

/// The byte order of a section whose header `bytes` begin with; `None` where the magic number is wrong.
pub(crate) fn section_order(bytes: &[u8]) -> Option<ByteOrder> {
    match be32(bytes, 8) {
        0x1A2B_3C4D => Some(ByteOrder::Big),
        0x4D3C_2B1A => Some(ByteOrder::Little),
        _ => None,
    }
}

/// The bytes of the block that `bytes` begin with; `None` while its header is not complete.
pub(crate) fn block_bytes(
    bytes: &[u8],
    order: ByteOrder,
    offset: u64,
) -> Result<Option<usize>, CaptureError> {
    let damaged = |what| Err(CaptureError::Damaged { offset, what });
    if bytes.len() < 12 {
        return Ok(None);
    }
    let order = if be32(bytes, 0) == SECTION_HEADER {
        match section_order(bytes) {
            Some(order) => order,
            None => return damaged("the section's byte-order magic is wrong"),
        }
    } else {
        order
    };
    let length = order.u32(bytes, 4);
    if length > MAX_BLOCK_BYTES {
        return damaged("the block claims more than 16 MiB");
    }
    if length < 12 || length % 4 != 0 {
        return damaged("the block's length is no multiple of 4 from 12 on");
    }
    Ok(Some(length as usize))
}

/// Reads one complete block; a frame, where it holds one.
pub(crate) fn read_block<'a>(
    block: &'a [u8],
    header: &mut FileHeader,
    offset: u64,
) -> Result<Option<CapturedFrame<'a>>, CaptureError> {
    let damaged = |what| Err(CaptureError::Damaged { offset, what });
    if be32(block, 0) == SECTION_HEADER && offset > 0 {
        let order = section_order(block).unwrap_or(header.order);
        header.begin_capture(CaptureFormat::Pcapng, order);
    }
    let order = header.order;
    let body = &block[8..block.len() - 4];
    if order.u32(block, block.len() - 4) as usize != block.len() {
        return damaged("the two lengths of the block differ");
    }
    match order.u32(block, 0) {
        ENHANCED_PACKET | OBSOLETE_PACKET => {}
        SIMPLE_PACKET => return simple_packet(body, header, offset).map(Some),
        other => {
            match other {
                SECTION_HEADER => read_section(body, header),
                INTERFACE if !read_interface(body, header) => {
                    return damaged("the interface description cannot be read");
                }
                STATISTICS => read_statistics(body, header),
                _ => {}
            }
            return Ok(None);
        }
    }
    packet(block, header, offset).map(Some)
}

fn packet<'a>(
    block: &'a [u8],
    header: &mut FileHeader,
    offset: u64,
) -> Result<CapturedFrame<'a>, CaptureError> {
    let damaged = |what| Err(CaptureError::Damaged { offset, what });
    let order = header.order;
    let body = &block[8..block.len() - 4];
    if body.len() < 20 {
        return damaged("the packet block is too short");
    }
    let number = if order.u32(block, 0) == ENHANCED_PACKET {
        order.u32(body, 0) as usize
    } else {
        usize::from(order.u16(body, 0))
    };
    let captured = order.u32(body, 12) as usize;
    let Some(data) = body[20..].get(..captured) else {
        return damaged("the packet is longer than its block");
    };
    let original = order.u32(body, 16).max(captured as u32);
    if original > MAX_FRAME_BYTES {
        return damaged(TOO_LARGE);
    }
    let index = header.base.saturating_add(number);
    let Some(interface) = header.interfaces.get_mut(index) else {
        return damaged("the packet's interface was not described");
    };
    interface.frames += 1;
    let ticks = u64::from(order.u32(body, 4)) << 32 | u64::from(order.u32(body, 8));
    let mut frame = CapturedFrame {
        interface: index as u32,
        capture: header.capture,
        link_type: interface.link_type,
        at_ns: Some(interface.scale.ns(ticks)),
        original_bytes: original,
        data,
        origin: FrameOrigin::Unknown,
        gso: None,
    };
    let options = &body[(20 + captured.next_multiple_of(4)).min(body.len())..];
    if !options.is_empty() {
        read_options(options, order, &mut frame);
    }
    Ok(frame)
}

fn read_options(options: &[u8], order: ByteOrder, frame: &mut CapturedFrame<'_>) {
    for (code, value) in BlockOptions::new(options, order) {
        match code {
            COMMENT => frame.gso = GsoRecord::from_comment(value).or(frame.gso),
            FLAGS if value.len() == 4 => {
                frame.origin = match order.u32(value, 0) & 3 {
                    1 => FrameOrigin::Received,
                    2 => FrameOrigin::Sent,
                    _ => FrameOrigin::Unknown,
                };
            }
            _ => {}
        }
    }
}

fn simple_packet<'a>(
    body: &'a [u8],
    header: &mut FileHeader,
    offset: u64,
) -> Result<CapturedFrame<'a>, CaptureError> {
    let order = header.order;
    let Some(interface) = header.interfaces.get_mut(header.base) else {
        let what = "the packet's interface was not described";
        return Err(CaptureError::Damaged { offset, what });
    };
    interface.frames += 1;
    let original = order.u32(body, 0);
    if original > MAX_FRAME_BYTES {
        let what = TOO_LARGE;
        return Err(CaptureError::Damaged { offset, what });
    }
    let kept = body.get(4..).unwrap_or(&[]);
    let limit = match interface.snap_bytes {
        0 => original,
        snap => original.min(snap),
    };
    let data = &kept[..kept.len().min(limit as usize)];
    Ok(CapturedFrame {
        interface: header.base as u32,
        capture: header.capture,
        link_type: interface.link_type,
        at_ns: None,
        original_bytes: original.max(data.len() as u32),
        data,
        origin: FrameOrigin::Unknown,
        gso: None,
    })
}
