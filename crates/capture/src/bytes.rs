//! Integers out of byte slices, in either order.

/// The order of bytes in a file's integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Little,
    Big,
}

impl ByteOrder {
    /// The 16 bits at `at`; zero beyond the end.
    #[inline]
    pub(crate) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let value = be16(bytes, at);
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }

    /// The 32 bits at `at`; zero beyond the end.
    #[inline]
    pub(crate) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let value = be32(bytes, at);
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }

    /// The 64 bits at `at`; zero beyond the end.
    #[inline]
    pub(crate) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let value = be64(bytes, at);
        match self {
            Self::Big => value,
            Self::Little => value.swap_bytes(),
        }
    }
}

#[inline]
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(<[u8]>::first_chunk)
        .copied()
        .unwrap_or([0; N])
}

/// The big-endian 16 bits at `at`; zero beyond the end.
#[inline]
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array(bytes, at))
}

/// The big-endian 32 bits at `at`; zero beyond the end.
#[inline]
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array(bytes, at))
}

/// The big-endian 64 bits at `at`; zero beyond the end.
#[inline]
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array(bytes, at))
}

/// The big-endian 128 bits at `at`; zero beyond the end.
#[inline]
pub(crate) fn be128(bytes: &[u8], at: usize) -> u128 {
    u128::from_be_bytes(array(bytes, at))
}
