//! The key with which packets are authenticated: HMAC-SHA-256, truncated to 128 bits (RFC 8762 section 4.4).

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// Bytes of a truncated HMAC.
pub(super) const HMAC_BYTES: usize = 16;
/// Minimum length of a key, bytes.
const MIN_KEY_BYTES: usize = 16;
/// Maximum length of a key, bytes.
const MAX_KEY_BYTES: usize = 1024;

/// A key that sender and reflector share. It is never printed.
#[derive(Clone)]
pub struct StampKey(Hmac<Sha256>);

impl StampKey {
    /// The key of these bytes; `None` below 16 of them, which can be found by trying, and above 1024.
    #[must_use]
    pub fn new(secret: &[u8]) -> Option<Self> {
        (MIN_KEY_BYTES..=MAX_KEY_BYTES)
            .contains(&secret.len())
            .then(|| Self::of_any_length(secret))
    }

    /// The key of bytes of any length, as other tools allow them.
    pub(super) fn of_any_length(secret: &[u8]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    /// The HMAC of some parts, one after the other.
    pub(super) fn hmac(&self, parts: &[&[u8]]) -> [u8; HMAC_BYTES] {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        let mut truncated = [0; HMAC_BYTES];
        for (to, from) in truncated.iter_mut().zip(mac.finalize().into_bytes()) {
            *to = from;
        }
        truncated
    }

    /// `true` where this is the HMAC of the parts; it takes as long for any other.
    pub(super) fn verifies(&self, parts: &[&[u8]], hmac: &[u8]) -> bool {
        self.hmac(parts).as_slice().ct_eq(hmac).into()
    }
}

impl fmt::Debug for StampKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StampKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hmac_is_that_of_rfc_4231_truncated() {
        // Test cases 1 and 2 of RFC 4231, and case 5, which is truncated to 128 bits there.
        for (key, data, expected) in [
            (
                vec![0x0b; 20],
                b"Hi There".as_slice(),
                "b0344c61d8db38535ca8afceaf0bf12b",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c7",
            ),
            (
                vec![0x0c; 20],
                b"Test With Truncation",
                "a3b6167473100ee06e0c796c2955552b",
            ),
        ] {
            let key = StampKey::of_any_length(&key);
            let hmac = key.hmac(&[&data[..3], &data[3..]]);
            assert_eq!(hex::encode(hmac), expected);
            assert!(key.verifies(&[data], &hmac));
            assert!(!key.verifies(&[&data[1..]], &hmac));
            assert!(!key.verifies(&[data], &hmac[..15]));
        }
    }

    #[test]
    fn a_key_is_not_printed_and_not_short() {
        let key = StampKey::new(b"0123456789abcdef").unwrap();
        assert_eq!(format!("{key:?}"), "StampKey");
        assert!(StampKey::new(b"0123456789abcde").is_none());
        assert!(StampKey::new(&[7; 1025]).is_none());
    }
}
