//! The server's answer to a TCP test header: its version, and with trip times its clock.

use super::field::{put, word};

/// Bytes in an answer without times.
pub const ACK_BYTES: usize = 28;
/// Bytes in an answer with times.
const ACK_TIMES: usize = 52;
const TYPE: u32 = 2;
/// Where the times are, bytes from its start.
const TIMES_AT: [usize; 3] = [28, 36, 44];

/// An answer to a test header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerAck {
    /// The server's version.
    pub version: (u32, u32),
    /// With trip times, the times at which the client sent, the server received, and the server answered; seconds and µs.
    pub times: Option<[(u32, u32); 3]>,
}

impl ServerAck {
    /// The bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let length = if self.times.is_some() {
            ACK_TIMES
        } else {
            ACK_BYTES
        };
        let mut bytes = vec![0; length];
        put(&mut bytes, 0, TYPE);
        put(&mut bytes, 4, length as u32);
        put(&mut bytes, 12, self.version.0);
        put(&mut bytes, 16, self.version.1);
        for (at, time) in TIMES_AT.into_iter().zip(self.times.iter().flatten()) {
            put(&mut bytes, at, time.0);
            put(&mut bytes, at.saturating_add(4), time.1);
        }
        bytes
    }

    /// Reads an answer; `None` when the bytes are not one, or some are missing.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let length = word(bytes, 4)? as usize;
        if word(bytes, 0)? != TYPE || !(ACK_BYTES..=1024).contains(&length) {
            return None;
        }
        let time = |nth: usize| {
            let at = *TIMES_AT.get(nth)?;
            Some((word(bytes, at)?, word(bytes, at.saturating_add(4))?))
        };
        Some(Self {
            version: (word(bytes, 12)?, word(bytes, 16)?),
            times: if length >= ACK_TIMES {
                match (time(0), time(1), time(2)) {
                    (Some(sent), Some(received), Some(answered)) => {
                        Some([sent, received, answered])
                    }
                    _ => None,
                }
            } else {
                None
            },
        })
    }
}
