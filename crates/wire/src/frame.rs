//! Control messages on a byte stream: four big-endian bytes of length, then JSON.

use caudal_core::text::ExternalText;
use serde::{Serialize, de::DeserializeOwned};

/// The maximum length of a message that a client accepts, in bytes: the readings of a thousand flows fit.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// The maximum length of a message that a server accepts, in bytes: it buffers that much for each of many clients.
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
    /// Not the JSON that was expected.
    #[error("a message does not read as one of ours: {0}")]
    Malformed(ExternalText),
}

/// Encodes a message with its frame.
///
/// # Errors
/// When the message does not serialise, or is longer than the other side would accept.
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)
        .map_err(|cause| FrameError::Malformed(cause.to_string().into()))?;
    let length = bytes.len() - 4;
    let announced = u32::try_from(length).unwrap_or(u32::MAX);
    if length > MAX_MESSAGE_BYTES {
        return Err(FrameError::TooLong {
            announced,
            max: MAX_MESSAGE_BYTES,
        });
    }
    bytes[..4].copy_from_slice(&announced.to_be_bytes());
    Ok(bytes)
}

/// Collects bytes as they arrive and returns messages as they become complete.
///
/// Holds at most one message and the start of the next, however the bytes are split.
#[derive(Debug)]
pub struct Decoder {
    held: Vec<u8>,
    read: usize,
    max: usize,
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
            max,
        }
    }

    /// Takes in bytes from the peer.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Returns the next complete message, or `None` when more bytes are needed.
    ///
    /// # Errors
    /// When the announced length is beyond the decoder's limit, before anything is buffered for it,
    /// and when the bytes are not JSON of the expected type.
    pub fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        let held = &self.held[self.read..];
        let Some((length, rest)) = held.split_first_chunk::<4>() else {
            return Ok(None);
        };
        let announced = u32::from_be_bytes(*length);
        let length = announced as usize;
        if length > self.max {
            return Err(FrameError::TooLong {
                announced,
                max: self.max,
            });
        }
        let Some(body) = rest.get(..length) else {
            return Ok(None);
        };
        let message = serde_json::from_slice(body)
            .map_err(|cause| FrameError::Malformed(cause.to_string().into()))?;
        self.read += 4 + length;
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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

    proptest! {
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
