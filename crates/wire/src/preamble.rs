//! The first bytes of every connection: they tell our protocol from others, and what the connection is for.

/// The bytes every connection of ours begins with, in both directions.
pub const MAGIC: [u8; 6] = *b"CAUDAL";
/// The version of the protocol: a peer that names another one is refused with a reason.
pub const PROTOCOL: u8 = 1;
/// Bytes in a client's preamble.
pub const PREAMBLE_BYTES: usize = 32;
/// Bytes in a server's answer to it.
pub const ANSWER_BYTES: usize = 8;

/// Names a test's data connections: a secret made by the server for one control connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TestToken(pub [u8; 16]);

impl TestToken {
    /// The token as 32 hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Reads 32 hexadecimal digits; `None` for anything else.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut token = [0; 16];
        for (byte, pair) in token.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(token))
    }
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Control messages.
    Control,
    /// The payload of one flow of a test.
    Data {
        /// The test.
        token: TestToken,
        /// The flow's number in it.
        flow: u32,
    },
}

/// Why the first bytes are not a preamble of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PreambleError {
    /// Another protocol.
    #[error("the first bytes are not those of caudal's protocol")]
    Foreign,
    /// Ours, in a version we do not speak.
    #[error("the peer speaks protocol {0}, this is {PROTOCOL}")]
    Version(u8),
    /// Ours, for a purpose we do not know.
    #[error("the connection is for an unknown purpose")]
    Purpose,
}

/// What a server answers to a preamble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreambleAnswer {
    /// A data connection has found its test.
    Attached,
    /// Control messages follow.
    Welcome,
    /// A message saying why follows; then the connection closes.
    Refused,
}

impl Purpose {
    /// The client's preamble for a connection of this purpose.
    #[must_use]
    pub fn encode(self) -> [u8; PREAMBLE_BYTES] {
        let mut bytes = [0; PREAMBLE_BYTES];
        bytes[..6].copy_from_slice(&MAGIC);
        bytes[6] = PROTOCOL;
        match self {
            Self::Control => bytes[7] = b'C',
            Self::Data { token, flow } => {
                bytes[7] = b'D';
                bytes[8..24].copy_from_slice(&token.0);
                bytes[24..28].copy_from_slice(&flow.to_be_bytes());
            }
        }
        bytes
    }

    /// Reads a client's preamble.
    ///
    /// # Errors
    /// Says whether the bytes are another protocol's, another version's, or of no known purpose.
    pub fn decode(bytes: &[u8; PREAMBLE_BYTES]) -> Result<Self, PreambleError> {
        if bytes[..6] != MAGIC {
            return Err(PreambleError::Foreign);
        }
        if bytes[6] != PROTOCOL {
            return Err(PreambleError::Version(bytes[6]));
        }
        match bytes[7] {
            b'C' => Ok(Self::Control),
            b'D' => {
                let mut token = [0; 16];
                token.copy_from_slice(&bytes[8..24]);
                let flow = u32::from_be_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
                Ok(Self::Data {
                    token: TestToken(token),
                    flow,
                })
            }
            _ => Err(PreambleError::Purpose),
        }
    }
}

impl PreambleAnswer {
    /// The server's eight bytes.
    #[must_use]
    pub fn encode(self) -> [u8; ANSWER_BYTES] {
        let mut bytes = [0; ANSWER_BYTES];
        bytes[..6].copy_from_slice(&MAGIC);
        bytes[6] = PROTOCOL;
        bytes[7] = match self {
            Self::Attached => b'A',
            Self::Welcome => b'W',
            Self::Refused => b'R',
        };
        bytes
    }

    /// Reads the server's eight bytes.
    ///
    /// # Errors
    /// Says whether the bytes are another protocol's, another version's, or no known answer.
    pub fn decode(bytes: &[u8; ANSWER_BYTES]) -> Result<Self, PreambleError> {
        if bytes[..6] != MAGIC {
            return Err(PreambleError::Foreign);
        }
        // A refusal is read in any version: it carries the reason.
        if bytes[7] == b'R' {
            return Ok(Self::Refused);
        }
        if bytes[6] != PROTOCOL {
            return Err(PreambleError::Version(bytes[6]));
        }
        match bytes[7] {
            b'A' => Ok(Self::Attached),
            b'W' => Ok(Self::Welcome),
            _ => Err(PreambleError::Purpose),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_preamble_survives_the_trip(token: [u8; 16], flow: u32) {
            let purpose = Purpose::Data { token: TestToken(token), flow };
            prop_assert_eq!(Purpose::decode(&purpose.encode()), Ok(purpose));
            prop_assert_eq!(TestToken::from_hex(&TestToken(token).to_hex()), Some(TestToken(token)));
        }

        #[test]
        fn no_bytes_make_a_preamble_panic(bytes: [u8; PREAMBLE_BYTES], answer: [u8; ANSWER_BYTES], text: String) {
            let _ = Purpose::decode(&bytes);
            let _ = PreambleAnswer::decode(&answer);
            let _ = TestToken::from_hex(&text);
        }
    }

    #[test]
    fn another_protocol_and_another_version_are_told_apart() {
        let mut bytes = Purpose::Control.encode();
        bytes[6] = 9;
        assert_eq!(Purpose::decode(&bytes), Err(PreambleError::Version(9)));
        assert_eq!(
            Purpose::decode(
                b"GET / HTTP/1.1\r\nHost: example\r\n\r\n\0"[..32]
                    .try_into()
                    .unwrap()
            ),
            Err(PreambleError::Foreign)
        );
        assert_eq!(
            PreambleAnswer::decode(&PreambleAnswer::Welcome.encode()),
            Ok(PreambleAnswer::Welcome)
        );
    }
}
