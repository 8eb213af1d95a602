//! Control messages on a byte stream: four big-endian bytes of length, then JSON. On an authenticated connection an
//! authentication code precedes the JSON, and the length counts both.

use crate::authentication::{CODE_BYTES, MessageAuthenticator};
use caudal_core::text::ExternalText;
use serde::{Serialize, de::DeserializeOwned};

/// Bytes in the length that precedes a message.
pub const LENGTH_BYTES: usize = 4;
/// Maximum length of a message that a client accepts, in bytes: the readings of a thousand flows fit.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Maximum length of a message that a server accepts, in bytes: it buffers that much for each of many clients.
pub const MAX_TO_SERVER_BYTES: usize = 64 << 10;

/// The reason why bytes are not a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length greater than that of any message.
    #[error("a message of {announced} bytes was announced; {max} are allowed")]
    TooLong {
        /// Its length in bytes.
        announced: u32,
        /// The maximum that is accepted.
        max: usize,
    },
    /// A message without the authentication code that is due.
    #[error("a message was altered, repeated or forged: its authentication code is wrong")]
    Altered,
    /// Not the JSON that was expected.
    #[error("a message does not read as one of ours: {0}")]
    Malformed(ExternalText),
}

/// Encodes a message with its frame.
///
/// # Errors
/// When the message does not serialise, or is longer than the other side would accept.
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<u8>, FrameError> {
    encode_after(0, message)
}

/// Encodes the next message of an authenticated connection with its frame.
///
/// # Errors
/// Those of [`encode`].
pub fn encode_authenticated<M: Serialize>(
    message: &M,
    authenticator: &mut MessageAuthenticator,
) -> Result<Vec<u8>, FrameError> {
    let mut bytes = encode_after(CODE_BYTES, message)?;
    if let Some((_, rest)) = bytes.split_at_mut_checked(LENGTH_BYTES)
        && let Some((code, json)) = rest.split_first_chunk_mut::<CODE_BYTES>()
    {
        *code = authenticator.sign(json);
    }
    Ok(bytes)
}

/// Encodes a message with its frame, and room for as many bytes before the JSON.
fn encode_after<M: Serialize>(room: usize, message: &M) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; LENGTH_BYTES.saturating_add(room)];
    serde_json::to_writer(&mut bytes, message)
        .map_err(|cause| FrameError::Malformed(cause.to_string().into()))?;
    let length = bytes.len().saturating_sub(LENGTH_BYTES);
    let announced = u32::try_from(length).unwrap_or(u32::MAX);
    if length.saturating_sub(room) > MAX_MESSAGE_BYTES {
        return Err(FrameError::TooLong {
            announced,
            max: MAX_MESSAGE_BYTES,
        });
    }
    if let Some(head) = bytes.first_chunk_mut::<LENGTH_BYTES>() {
        *head = announced.to_be_bytes();
    }
    Ok(bytes)
}

/// Collects bytes as they arrive and returns messages as they become complete.
///
/// Holds at most one message and the start of the next, however the bytes are split.
#[derive(Debug)]
pub struct Decoder {
    held: Vec<u8>,
    read: usize,
    /// The length of the latest message's JSON, which ends where the next message begins.
    latest: usize,
    max: usize,
    /// The check of messages; `None` before the connection is authenticated.
    authenticator: Option<MessageAuthenticator>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(MAX_MESSAGE_BYTES)
    }
}

impl Decoder {
    /// A decoder that refuses messages of more than `max` bytes.
    #[must_use]
    pub const fn with_limit(max: usize) -> Self {
        Self {
            held: Vec::new(),
            read: 0,
            latest: 0,
            max,
            authenticator: None,
        }
    }

    /// Requires an authentication code of every message from the next one on.
    pub fn authenticate(&mut self, authenticator: MessageAuthenticator) {
        self.authenticator = Some(authenticator);
    }

    /// The JSON text of the latest message, until more bytes are fed.
    #[must_use]
    pub fn latest_json(&self) -> &[u8] {
        let from = self.read.saturating_sub(self.latest);
        self.held.get(from..self.read).unwrap_or_default()
    }

    /// Takes in bytes from the peer.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
            self.latest = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Returns the next complete message, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the announced length is beyond the decoder's limit, before anything is buffered for it, when the authentication code
    /// is wrong, and when the bytes are not JSON of the expected type.
    pub fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        let held = self.held.get(self.read..).unwrap_or_default();
        let Some((length, rest)) = held.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let announced = u32::from_be_bytes(*length);
        let length = announced as usize;
        let room = self.authenticator.as_ref().map_or(0, |_| CODE_BYTES);
        if length > self.max.saturating_add(room) {
            return Err(FrameError::TooLong {
                announced,
                max: self.max,
            });
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let json = match &mut self.authenticator {
            None => body,
            Some(authenticator) => {
                let (code, json) = body
                    .split_first_chunk::<CODE_BYTES>()
                    .ok_or(FrameError::Altered)?;
                if !authenticator.verify(json, code) {
                    return Err(FrameError::Altered);
                }
                json
            }
        };
        let message = serde_json::from_slice(json)
            .map_err(|cause| FrameError::Malformed(cause.to_string().into()))?;
        self.read = self
            .read
            .saturating_add(LENGTH_BYTES)
            .saturating_add(length);
        self.latest = length.saturating_sub(room);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_token::AccessToken;
    use crate::authentication::ConnectionKey;
    use crate::message::{ToClient, ToServer};
    use proptest::prelude::*;

    #[test]
    fn messages_come_out_however_the_bytes_were_cut() {
        let mut bytes = encode(&ToServer::Start).unwrap();
        bytes.extend(encode(&ToServer::Alive).unwrap());
        for cut in 1..bytes.len() {
            let mut decoder = Decoder::default();
            let mut seen = Vec::new();
            for part in bytes.chunks(cut) {
                decoder.feed(part);
                while let Some(message) = decoder.next_message::<ToServer>().unwrap() {
                    seen.push(message);
                }
            }
            assert_eq!(seen, [ToServer::Start, ToServer::Alive]);
        }
    }

    #[test]
    fn a_length_of_two_gigabytes_is_refused_before_anything_is_kept() {
        let mut decoder = Decoder::default();
        decoder.feed(&0x8000_0000_u32.to_be_bytes());
        assert_eq!(
            decoder.next_message::<ToServer>(),
            Err(FrameError::TooLong {
                announced: 0x8000_0000,
                max: MAX_MESSAGE_BYTES
            })
        );
    }

    fn connection_key() -> ConnectionKey {
        let token = AccessToken::new("0123456789abcdef").unwrap();
        ConnectionKey::derive(&token, b"hello", b"challenge")
    }

    fn authenticated_decoder() -> Decoder {
        let mut decoder = Decoder::default();
        decoder.authenticate(connection_key().to_server());
        decoder
    }

    #[test]
    fn an_authenticated_connection_takes_its_own_messages_only() {
        let mut sender = connection_key().to_server();
        let start = encode_authenticated(&ToServer::Start, &mut sender).unwrap();
        let alive = encode_authenticated(&ToServer::Alive, &mut sender).unwrap();
        let mut decoder = authenticated_decoder();
        decoder.feed(&start);
        assert_eq!(decoder.next_message(), Ok(Some(ToServer::Start)));
        assert_eq!(decoder.latest_json(), br#"{"type":"start"}"#);
        decoder.feed(&alive);
        assert_eq!(decoder.next_message(), Ok(Some(ToServer::Alive)));
        decoder.feed(&alive);
        assert_eq!(
            decoder.next_message::<ToServer>(),
            Err(FrameError::Altered),
            "repeated"
        );
        let mut decoder = authenticated_decoder();
        decoder.feed(&encode(&ToServer::Start).unwrap());
        assert_eq!(decoder.next_message::<ToServer>(), Err(FrameError::Altered));
    }

    #[test]
    fn no_byte_of_an_authenticated_message_can_be_altered() {
        let offer = r#"{"type":"offer","plan":{"kind":"traffic","transport":"udp","directions":"both","parallel":2,
            "end":{"time_ns":1000000000},"interval_ns":100000000,"omit":"nothing","rate":{"limit":1000000},"length":1448,
            "window":null,"mss":null,"congestion":null,"no_delay":false,"dscp":null,"mptcp":false,"discard":false,
            "zero_copy":false,"verify":true,"same_machine":false}}"#;
        let offer: ToServer = serde_json::from_str(offer).unwrap();
        let bytes = encode_authenticated(&offer, &mut connection_key().to_server()).unwrap();
        for nth in 4..bytes.len() {
            let mut altered = bytes.clone();
            altered[nth] ^= 1;
            let mut decoder = authenticated_decoder();
            decoder.feed(&altered);
            let outcome = decoder.next_message::<ToServer>();
            assert_eq!(outcome, Err(FrameError::Altered), "byte {nth}");
        }
        let mut decoder = authenticated_decoder();
        decoder.feed(&bytes);
        assert_eq!(decoder.next_message(), Ok(Some(offer)));
    }

    proptest! {
        #[test]
        fn no_bytes_pass_an_authenticated_decoder(bytes: Vec<u8>) {
            let mut decoder = authenticated_decoder();
            decoder.feed(&bytes);
            prop_assert!(!matches!(decoder.next_message::<ToServer>(), Ok(Some(_))));
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes: Vec<u8>) {
            let mut decoder = Decoder::default();
            decoder.feed(&bytes);
            while let Ok(Some(_)) = decoder.next_message::<ToServer>() {}
            let mut decoder = Decoder::default();
            decoder.feed(&bytes);
            while let Ok(Some(_)) = decoder.next_message::<ToClient>() {}
        }

        #[test]
        fn no_json_makes_a_message_panic(text in "[\\[\\]{}\":a-z0-9,.]{0,60}") {
            let mut decoder = Decoder::default();
            decoder.feed(&(text.len() as u32).to_be_bytes());
            decoder.feed(text.as_bytes());
            let _ = decoder.next_message::<ToServer>();
            let mut decoder = Decoder::default();
            decoder.feed(&(text.len() as u32).to_be_bytes());
            decoder.feed(text.as_bytes());
            let _ = decoder.next_message::<ToClient>();
        }
    }
}
