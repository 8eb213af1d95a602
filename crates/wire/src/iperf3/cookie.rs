//! The 37 bytes every TCP connection of an iperf3 test begins with: they name the test.

/// Bytes in a cookie: 36 characters and a NUL.
pub const COOKIE_BYTES: usize = 37;
/// The characters iperf3 makes cookies of (those of base 32, RFC 4648, in lower case).
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

/// Names a test: made up by its client, repeated on its data connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; COOKIE_BYTES]);

impl Cookie {
    /// A cookie made of 36 random bytes.
    #[must_use]
    pub fn from_random(random: [u8; COOKIE_BYTES - 1]) -> Self {
        let mut bytes = [0; COOKIE_BYTES];
        for (byte, random) in bytes.iter_mut().zip(random) {
            *byte = ALPHABET[usize::from(random % 32)];
        }
        Self(bytes)
    }

    /// Whether these first bytes of a connection may be those of a cookie; other programs' clients may
    /// use all letters and digits.
    #[must_use]
    pub fn may_begin_with(bytes: &[u8]) -> bool {
        bytes.iter().enumerate().all(|(nth, byte)| match nth {
            0..36 => byte.is_ascii_alphanumeric(),
            _ => nth == 36 && *byte == 0,
        })
    }

    /// Reads a cookie; `None` for anything else.
    #[must_use]
    pub fn decode(bytes: &[u8; COOKIE_BYTES]) -> Option<Self> {
        Self::may_begin_with(bytes).then_some(Self(*bytes))
    }

    /// The bytes as they are sent.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; COOKIE_BYTES] {
        &self.0
    }

    /// The characters.
    #[must_use]
    pub fn text(&self) -> String {
        self.0[..COOKIE_BYTES - 1]
            .iter()
            .map(|byte| char::from(*byte))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cookie_is_told_from_other_first_bytes() {
        let cookie = Cookie::from_random([255; 36]);
        assert_eq!(cookie.text(), "7".repeat(36));
        assert_eq!(Cookie::decode(cookie.bytes()), Some(cookie));
        for stranger in [
            &b"GET / HTTP/1.1"[..],
            b"SSH-2.0-x",
            b"\x16\x03\x01",
            b"\0\0\0\0",
            b"@\x01\0x",
        ] {
            assert!(!Cookie::may_begin_with(stranger), "{stranger:?}");
        }
        let mut unended = *cookie.bytes();
        unended[36] = b'a';
        assert_eq!(Cookie::decode(&unended), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_cookie_panic(bytes: Vec<u8>, whole: [u8; 37]) {
            let _ = Cookie::may_begin_with(&bytes);
            let _ = Cookie::decode(&whole);
        }
    }
}
