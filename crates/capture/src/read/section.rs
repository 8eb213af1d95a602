//! The blocks of a pcapng section that describe it: header, interfaces, statistics.

use super::header::{FileHeader, FileInterface};
use super::link_type::LinkType;
use super::options::{BlockOptions, COMMENT};
use super::time::TimeScale;

/// Maximum number of interfaces of a file.
pub(crate) const MAX_INTERFACES: usize = 4096;

/// Reads the body of a Section Header Block (section 4.1).
pub(crate) fn read_section(body: &[u8], header: &mut FileHeader) {
    let options = BlockOptions::new(body.get(16..).unwrap_or(&[]), header.order);
    for (code, value) in options {
        match code {
            COMMENT => header.add_comment(value),
            2 => header.hardware = header.keep_text(value),
            3 => header.os = header.keep_text(value),
            4 => header.program = header.keep_text(value),
            _ => {}
        }
    }
}

/// Reads the body of an Interface Description Block (section 4.2); `false` when there are too many of them, or its times make no sense.
pub(crate) fn read_interface(body: &[u8], header: &mut FileHeader) -> bool {
    if header.interfaces.len() >= MAX_INTERFACES || body.len() < 8 {
        return false;
    }
    let order = header.order;
    let mut interface = FileInterface::new(
        LinkType::from_number(order.u16(body, 0)),
        order.u32(body, 4),
        TimeScale::MICROSECONDS,
    );
    let mut offset_s = 0;
    for (code, value) in BlockOptions::new(&body[8..], order) {
        match code {
            2 => interface.name = header.keep_text(value),
            3 => interface.description = header.keep_text(value),
            9 => {
                let Some(scale) = value.first().and_then(|r| TimeScale::from_resolution(*r)) else {
                    return false;
                };
                interface.scale = scale;
            }
            // The first byte tells that the filter is text.
            11 if value.first() == Some(&0) => interface.filter = header.keep_text(&value[1..]),
            14 if value.len() == 8 => offset_s = order.u64(value, 0) as i64,
            COMMENT => header.add_comment(value),
            _ => {}
        }
    }
    interface.scale = interface.scale.with_offset(offset_s);
    header.interfaces.push(interface);
    true
}

/// Reads the body of an Interface Statistics Block (section 4.6).
pub(crate) fn read_statistics(body: &[u8], header: &mut FileHeader) {
    let order = header.order;
    let number = order.u32(body, 0) as usize;
    let Some(interface) = header
        .interfaces
        .get_mut(header.base.saturating_add(number))
    else {
        return;
    };
    let (mut received, mut accepted, mut dropped) = (None, None, None);
    for (code, value) in BlockOptions::new(body.get(12..).unwrap_or(&[]), order) {
        if value.len() != 8 {
            continue;
        }
        let value = order.u64(value, 0);
        match code {
            4 => received = Some(value),
            5 | 7 => dropped = Some(dropped.unwrap_or(0_u64).saturating_add(value)),
            6 => accepted = Some(value),
            _ => {}
        }
    }
    // Counters of a later block include those of an earlier one.
    interface.received = accepted.or(received).or(interface.received);
    interface.dropped = dropped.or(interface.dropped);
}
