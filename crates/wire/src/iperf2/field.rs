//! Big-endian fields at fixed places, and the pattern of the payload.

/// Fills `room` with the payload of iperf 2: the repeated digits.
pub fn fill_pattern(room: &mut [u8]) {
    for (byte, digit) in room.iter_mut().zip((b'0'..=b'9').cycle()) {
        *byte = digit;
    }
}

/// The 32 bits at byte `at`; `None` behind the end.
pub(super) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

/// The 16 bits at byte `at`; `None` behind the end.
pub(super) fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

/// Writes 32 bits at byte `at`, where there is room for them.
pub(super) fn put(room: &mut [u8], at: usize, value: u32) {
    if let Some(four) = room
        .get_mut(at..)
        .and_then(|rest| rest.first_chunk_mut::<4>())
    {
        *four = value.to_be_bytes();
    }
}

/// Writes 16 bits at byte `at`, where there is room for them.
pub(super) fn put_half(room: &mut [u8], at: usize, value: u16) {
    if let Some(two) = room
        .get_mut(at..)
        .and_then(|rest| rest.first_chunk_mut::<2>())
    {
        *two = value.to_be_bytes();
    }
}
