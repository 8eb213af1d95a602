//! The fields of structures in the byte order of this machine.

/// The `N` bytes at `offset`; `None` where `bytes` end before them.
pub(crate) fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

/// The `u16` at `offset`.
pub(crate) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    field(bytes, offset).map(u16::from_ne_bytes)
}

/// The `u32` at `offset`.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    field(bytes, offset).map(u32::from_ne_bytes)
}

/// The `u64` at `offset`.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    field(bytes, offset).map(u64::from_ne_bytes)
}

/// The `struct timespec` at the beginning of `bytes` in nanoseconds; `None` when it is all zero.
pub(crate) fn timespec_ns(bytes: &[u8]) -> Option<u64> {
    let word = size_of::<libc::c_long>();
    let long = |offset| match word {
        8 => u64_at(bytes, offset),
        _ => u32_at(bytes, offset).map(u64::from),
    };
    let nanoseconds = long(0)?
        .checked_mul(1_000_000_000)?
        .checked_add(long(word)?)?;
    (nanoseconds != 0).then_some(nanoseconds)
}
