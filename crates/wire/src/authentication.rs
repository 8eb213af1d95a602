//! Authentication of both ends of a control connection by a shared token, and of every message after it.
//!
//! The client's hello carries a nonce, the server answers with one of its own, and everything that follows is keyed by the
//! token and by the exact bytes of both messages. A recorded dialogue is therefore worth nothing on another connection, and an
//! altered hello makes the proofs of both ends differ.

use crate::access_token::AccessToken;
use hmac::{Hmac, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The name of the feature that a client with a token requires of a server.
pub const AUTHENTICATION: &str = "authentication";
/// Bytes in the authentication code of a message (HMAC-SHA-256, RFC 2104 and FIPS 180-4).
pub const CODE_BYTES: usize = 32;

/// Random bytes that are used once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(#[serde(with = "hex::serde")] pub [u8; 32]);

/// An authentication code in a message: evidence of a token that does not reveal it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TokenProof(#[serde(with = "hex::serde")] [u8; CODE_BYTES]);

impl PartialEq for TokenProof {
    /// Compares in constant time, so that a wrong proof does not show how much of it is right.
    fn eq(&self, other: &Self) -> bool {
        bool::from(subtle::ConstantTimeEq::ct_eq(&self.0[..], &other.0[..]))
    }
}

impl Eq for TokenProof {}

/// The key that both ends of one connection derive from the token and their first messages.
pub struct ConnectionKey(Hmac<Sha256>);

impl ConnectionKey {
    /// The key of a connection with this token, by the JSON texts of the client's hello and the server's challenge.
    #[must_use]
    pub fn derive(token: &AccessToken, hello: &[u8], challenge: &[u8]) -> Self {
        let mut mac = keyed(token.secret());
        mac.update(b"caudal authentication 1");
        for part in [hello, challenge] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Self(keyed(&mac.finalize().into_bytes()))
    }

    /// The evidence that the client has the token.
    #[must_use]
    pub fn client_proof(&self) -> TokenProof {
        TokenProof(self.expand(b"client proof"))
    }

    /// The evidence that the server has the token.
    #[must_use]
    pub fn server_proof(&self) -> TokenProof {
        TokenProof(self.expand(b"server proof"))
    }

    /// The authentication of the messages from the client to the server.
    #[must_use]
    pub fn to_server(&self) -> MessageAuthenticator {
        MessageAuthenticator::new(&self.expand(b"messages to the server"))
    }

    /// The authentication of the messages from the server to the client.
    #[must_use]
    pub fn to_client(&self) -> MessageAuthenticator {
        MessageAuthenticator::new(&self.expand(b"messages to the client"))
    }

    fn expand(&self, purpose: &[u8]) -> [u8; CODE_BYTES] {
        let mut mac = self.0.clone();
        mac.update(purpose);
        mac.finalize().into_bytes().into()
    }
}

/// The authentication of the messages in one direction of a connection, in their order.
pub struct MessageAuthenticator {
    mac: Hmac<Sha256>,
    /// The number of messages so far.
    count: u64,
}

impl std::fmt::Debug for MessageAuthenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MessageAuthenticator")
    }
}

impl MessageAuthenticator {
    fn new(key: &[u8; CODE_BYTES]) -> Self {
        Self {
            mac: keyed(key),
            count: 0,
        }
    }

    /// The authentication code of the next message.
    pub(crate) fn sign(&mut self, message: &[u8]) -> [u8; CODE_BYTES] {
        self.next(message).finalize().into_bytes().into()
    }

    /// `true` when `code` is that of the next message. Compares in constant time.
    pub(crate) fn verify(&mut self, message: &[u8], code: &[u8; CODE_BYTES]) -> bool {
        self.next(message).verify_slice(code).is_ok()
    }

    fn next(&mut self, message: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.mac.clone();
        mac.update(&self.count.to_be_bytes());
        mac.update(message);
        self.count = self.count.wrapping_add(1);
        mac
    }
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str) -> AccessToken {
        AccessToken::new(text).unwrap()
    }

    #[test]
    fn both_ends_derive_the_same_key_and_nobody_else_does() {
        let key = |text, hello: &[u8], challenge: &[u8]| {
            ConnectionKey::derive(&token(text), hello, challenge)
        };
        let here = key("0123456789abcdef", b"hello", b"challenge");
        let there = key("0123456789abcdef", b"hello", b"challenge");
        assert_eq!(here.client_proof(), there.client_proof());
        assert_eq!(here.server_proof(), there.server_proof());
        assert_ne!(here.client_proof(), here.server_proof());
        for other in [
            key("0123456789abcdeg", b"hello", b"challenge"),
            key("0123456789abcdef", b"hallo", b"challenge"),
            key("0123456789abcdef", b"hello", b"another challenge"),
            key("0123456789abcdef", b"helloc", b"hallenge"),
        ] {
            assert_ne!(here.client_proof(), other.client_proof());
            assert_ne!(here.server_proof(), other.server_proof());
        }
    }

    #[test]
    fn the_code_is_that_of_rfc_4231() {
        // Test case 2 of RFC 4231: key "Jefe", data "what do ya want for nothing?".
        let mut mac = keyed(b"Jefe");
        mac.update(b"what do ya want for nothing?");
        assert_eq!(
            hex::encode(mac.finalize().into_bytes()),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_message_is_valid_once_in_its_place_and_direction() {
        let key = ConnectionKey::derive(&token("0123456789abcdef"), b"hello", b"challenge");
        let (mut sender, mut receiver) = (key.to_server(), key.to_server());
        let (first, second) = (sender.sign(b"first"), sender.sign(b"second"));
        assert!(receiver.verify(b"first", &first));
        assert!(!key.to_server().verify(b"second", &second), "out of order");
        assert!(!key.to_client().verify(b"first", &first), "reflected");
        assert!(!key.to_server().verify(b"fir5t", &first), "altered");
        assert!(receiver.verify(b"second", &second));
        assert!(!receiver.verify(b"first", &first), "replayed");
    }
}
