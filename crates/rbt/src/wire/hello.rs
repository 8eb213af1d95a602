//! Setting up a session.

use super::frame::Reader;
use crate::config::{Arq, TransferConfig};

/// The version of RBT that this crate speaks.
pub const VERSION: u8 = 1;
/// Minimum size of a HELLO: no answer to an address that is not proven is larger.
pub(crate) const MIN_HELLO_BYTES: usize = 512;
/// Maximum size of a token.
pub(crate) const MAX_TOKEN_BYTES: usize = 64;
/// The size of a cookie.
pub(crate) const COOKIE_BYTES: usize = 16;
/// A size that is not known beforehand.
const UNKNOWN_TOTAL: u64 = u64::MAX;

/// A proposal of the initiator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    /// A random number that the answers repeat.
    pub(crate) nonce: u64,
    /// The version of RBT.
    pub(crate) version: u8,
    /// `true` when the initiator is the sender.
    pub(crate) is_sender: bool,
    /// The terms proposed. The session, the first packet number and the seed are not of them.
    pub(crate) config: TransferConfig,
    /// What the responder gave the initiator on another channel; empty without.
    pub(crate) token: Vec<u8>,
    /// The cookie of a RETRY; `None` in the first HELLO.
    pub(crate) cookie: Option<[u8; COOKIE_BYTES]>,
}

/// The request to repeat a HELLO with a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) nonce: u64,
    pub(crate) cookie: [u8; COOKIE_BYTES],
}

/// The responder's agreement. Its session is in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) nonce: u64,
    /// The size of the content: the responder's where it is the sender.
    pub(crate) total_bytes: Option<u64>,
    /// The resume offset: the responder's where it is the receiver.
    pub(crate) start_bytes: u64,
    /// The window granted.
    pub(crate) window_bytes: u64,
    /// The number of the first packet.
    pub(crate) first_pn: u64,
}

/// The responder's refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HelloRefusal {
    pub(crate) nonce: u64,
    /// `AbortCode` as a number, or [`Self::VERSION`].
    pub(crate) code: u32,
}

impl HelloRefusal {
    /// The responder does not speak the version of the HELLO.
    pub(crate) const VERSION: u32 = u32::MAX;

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(&self.code.to_le_bytes());
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        Some(Self {
            nonce: reader.u64()?,
            code: reader.u32()?,
        })
    }
}

impl Retry {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce.to_le_bytes());
        out.extend_from_slice(&self.cookie);
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        Some(Self {
            nonce: reader.u64()?,
            cookie: reader.array()?,
        })
    }
}

impl Accept {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for word in [
            self.nonce,
            self.total_bytes.unwrap_or(UNKNOWN_TOTAL),
            self.start_bytes,
            self.window_bytes,
            self.first_pn,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        Some(Self {
            nonce: reader.u64()?,
            total_bytes: reader.u64().map(known_total)?,
            start_bytes: reader.u64()?,
            window_bytes: reader.u64()?,
            first_pn: reader.u64()?,
        })
    }
}

const fn known_total(word: u64) -> Option<u64> {
    if word == UNKNOWN_TOTAL {
        None
    } else {
        Some(word)
    }
}

impl Arq {
    const NUMBERS: [(Self, u8); 4] = [
        (Self::Sack, 0),
        (Self::NakBitmap, 1),
        (Self::GoBackN, 2),
        (Self::StopAndWait, 3),
    ];

    fn from_number(number: u8) -> Option<Self> {
        Self::NUMBERS
            .iter()
            .find(|(_, known)| *known == number)
            .map(|(arq, _)| *arq)
    }

    fn number(self) -> u8 {
        Self::NUMBERS
            .iter()
            .find(|(arq, _)| *arq == self)
            .map_or(0, |(_, number)| *number)
    }
}

impl Hello {
    /// Appends the terms, which a cookie covers.
    pub(crate) fn write_terms(&self, out: &mut Vec<u8>) {
        let config = &self.config;
        out.extend_from_slice(&[
            self.version,
            u8::from(self.is_sender),
            config.arq.number(),
            0,
        ]);
        out.extend_from_slice(&config.packet_bytes.to_le_bytes());
        for word in [
            config.total_bytes.unwrap_or(UNKNOWN_TOTAL),
            config.start_bytes,
            config.window_bytes,
            config.granularity_ns,
            config.max_ack_delay_ns,
        ] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&config.ack_packets.to_le_bytes());
    }

    /// Appends the body; the datagram reaches its minimum size with zeros.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.nonce.to_le_bytes());
        self.write_terms(out);
        let token = &self.token[..self.token.len().min(MAX_TOKEN_BYTES)];
        out.push(token.len() as u8);
        out.extend_from_slice(token);
        let cookie: &[u8] = self.cookie.as_ref().map_or(&[], |cookie| &cookie[..]);
        out.push(cookie.len() as u8);
        out.extend_from_slice(cookie);
        out.resize(out.len().max(MIN_HELLO_BYTES), 0);
    }

    /// Reads a body; `None` when it is malformed.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let nonce = reader.u64()?;
        let [version, is_sender, arq, _] = reader.array()?;
        let packet_bytes = reader.u32()?;
        let total_bytes = known_total(reader.u64()?);
        let start_bytes = reader.u64()?;
        let window_bytes = reader.u64()?;
        let granularity_ns = reader.u64()?;
        let max_ack_delay_ns = reader.u64()?;
        let ack_packets = reader.u32()?;
        let token_bytes = usize::from(reader.u8()?);
        if token_bytes > MAX_TOKEN_BYTES {
            return None;
        }
        let token = reader.bytes(token_bytes)?.to_vec();
        let cookie = match reader.u8()? {
            0 => None,
            _ => Some(reader.array()?),
        };
        let config = TransferConfig {
            packet_bytes,
            total_bytes,
            start_bytes,
            arq: Arq::from_number(arq)?,
            window_bytes,
            granularity_ns,
            ack_packets,
            max_ack_delay_ns,
            ..TransferConfig::default()
        };
        Some(Self {
            nonce,
            version,
            is_sender: is_sender != 0,
            config,
            token,
            cookie,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        Hello {
            nonce: 9,
            version: 1,
            is_sender: true,
            config: TransferConfig {
                total_bytes: Some(12),
                arq: Arq::GoBackN,
                ..TransferConfig::default()
            },
            token: b"token".to_vec(),
            cookie: Some([3; COOKIE_BYTES]),
        }
    }

    #[test]
    fn what_was_written_is_read_again() {
        let mut body = Vec::new();
        hello().write(&mut body);
        assert!(body.len() >= MIN_HELLO_BYTES);
        assert_eq!(Hello::read(&body), Some(hello()));
        let accept = Accept {
            nonce: 1,
            total_bytes: None,
            start_bytes: 3,
            window_bytes: 4,
            first_pn: 5,
        };
        let mut body = Vec::new();
        accept.write(&mut body);
        assert_eq!(Accept::read(&body), Some(accept));
        let retry = Retry {
            nonce: 1,
            cookie: [2; COOKIE_BYTES],
        };
        let mut body = Vec::new();
        retry.write(&mut body);
        assert_eq!(Retry::read(&body), Some(retry));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(body in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Hello::read(&body);
            let _ = Accept::read(&body);
            let _ = Retry::read(&body);
            let _ = HelloRefusal::read(&body);
        }
    }
}
