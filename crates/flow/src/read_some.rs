//! Reading what has arrived.

use std::io::{self, Read};

/// Reads once, at most `max` bytes into `room`: the bytes that were read, none at the end of a stream.
///
/// # Errors
/// Those of the read.
pub fn read_some(mut from: impl Read, room: &mut [u8], max: usize) -> io::Result<&[u8]> {
    let (room, _) = room.split_at_mut(max.min(room.len()));
    let count = from.read(room)?;
    Ok(room.get(..count).unwrap_or_default())
}
