//! The logins that were used: each is admitted once.

use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Maximum number of logins that are remembered at once. Only logins with the right password are.
const MAX_USED: usize = 1 << 16;

/// The logins that were used and would still be admitted by their time.
#[derive(Debug, Default)]
pub(super) struct UsedLogins {
    /// The last second at which each would be admitted, by the SHA-256 of its encrypted bytes.
    last_s: HashMap<[u8; 32], u64>,
}

impl UsedLogins {
    /// Takes note of a login that would be admitted up to `last_s`: `true` when it was not used before.
    ///
    /// When as many are remembered as may be, none is admitted before one has expired.
    pub(super) fn take(&mut self, encrypted: &[u8], last_s: u64, now_s: u64) -> bool {
        // The number that the bytes stand for is what is decrypted: zeros before it change nothing.
        let first = encrypted.iter().position(|byte| *byte != 0);
        let digits = first.map_or(&[][..], |first| &encrypted[first..]);
        let digest: [u8; 32] = Sha256::digest(digits).into();
        self.last_s.retain(|_, last_s| *last_s >= now_s);
        let is_new = !self.last_s.contains_key(&digest) && self.last_s.len() < MAX_USED;
        if is_new {
            self.last_s.insert(digest, last_s);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_remembered_as_long_as_it_would_be_admitted() {
        let mut used = UsedLogins::default();
        assert!(used.take(&[1, 2], 10, 0));
        assert!(!used.take(&[1, 2], 10, 5));
        assert!(!used.take(&[0, 1, 2], 10, 10));
        assert!(used.take(&[1, 2, 0], 10, 10));
    }

    #[test]
    fn the_memory_is_bounded_and_expired_logins_make_room() {
        let mut used = UsedLogins {
            last_s: (0..MAX_USED as u64)
                .map(|nth| (Sha256::digest(nth.to_be_bytes()).into(), 10))
                .collect(),
        };
        assert!(!used.take(b"one more", 10, 10));
        assert!(used.take(b"one more", 21, 11));
        assert_eq!(used.last_s.len(), 1);
    }
}
