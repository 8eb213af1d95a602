//! Proof that an initiator receives at its address, without anything kept for it.

use crate::wire::{COOKIE_BYTES, Hello};

/// Minimum lifetime of a cookie, ns; the maximum is twice that.
const LIFETIME_NS: u64 = 10_000_000_000;
/// Lifetimes between two changes of the key: a minute.
const LIFETIMES_OF_A_KEY: u64 = 6;

/// Makes and checks cookies: a keyed BLAKE3 hash of the address, the proposal and the time.
#[derive(Clone)]
pub(super) struct CookieJar {
    secret: [u8; 32],
}

impl std::fmt::Debug for CookieJar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieJar")
    }
}

impl CookieJar {
    pub(super) const fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// The cookie of a proposal that came from `address`.
    pub(super) fn cookie(&self, now_ns: u64, address: &[u8], hello: &Hello) -> [u8; COOKIE_BYTES] {
        self.at_slot(now_ns / LIFETIME_NS, address, hello)
    }

    /// Whether the proposal has the cookie that was made for it.
    pub(super) fn is_proven(&self, now_ns: u64, address: &[u8], hello: &Hello) -> bool {
        let Some(cookie) = hello.cookie else {
            return false;
        };
        let slot = now_ns / LIFETIME_NS;
        [slot, slot.saturating_sub(1)].into_iter().any(|slot| {
            let expected = self.at_slot(slot, address, hello);
            // Every byte is looked at, whichever differs.
            expected
                .iter()
                .zip(cookie)
                .fold(0, |difference, (left, right)| difference | (left ^ right))
                == 0
        })
    }

    fn at_slot(&self, slot: u64, address: &[u8], hello: &Hello) -> [u8; COOKIE_BYTES] {
        let key = blake3::keyed_hash(&self.secret, &(slot / LIFETIMES_OF_A_KEY).to_le_bytes());
        let mut terms = Vec::new();
        hello.write_terms(&mut terms);
        let mut hasher = blake3::Hasher::new_keyed(key.as_bytes());
        hasher.update(&slot.to_le_bytes());
        hasher.update(&(address.len() as u64).to_le_bytes());
        hasher.update(address);
        hasher.update(&hello.nonce.to_le_bytes());
        hasher.update(&terms);
        let mut cookie = [0; COOKIE_BYTES];
        cookie.copy_from_slice(&hasher.finalize().as_bytes()[..COOKIE_BYTES]);
        cookie
    }
}
