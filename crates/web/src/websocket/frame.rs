//! Frames that a server sends: without a mask. Source: RFC 6455, section 5.2.

/// The kinds of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    /// More of the message before.
    Continuation,
    /// Text.
    Text,
    /// Bytes.
    Binary,
    /// The end.
    Close,
    /// A question whether the other end is there.
    Ping,
    /// The answer to it.
    Pong,
}

impl Opcode {
    /// The kind of these four bits; `None` for those that are reserved.
    pub(crate) const fn decode(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    /// `true` for the kinds that carry no payload of a test.
    pub(crate) const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

/// The header of an unfragmented frame with `len` bytes.
pub(crate) fn header(opcode: Opcode, len: u64) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode.bits()];
    match (u8::try_from(len), u16::try_from(len)) {
        (Ok(short @ ..=125), _) => bytes.push(short),
        (_, Ok(len)) => {
            bytes.push(126);
            bytes.extend_from_slice(&len.to_be_bytes());
        }
        _ => {
            bytes.push(127);
            bytes.extend_from_slice(&len.to_be_bytes());
        }
    }
    bytes
}

/// A whole frame.
pub(crate) fn frame(opcode: Opcode, content: &[u8]) -> Vec<u8> {
    let mut bytes = header(opcode, content.len() as u64);
    bytes.extend_from_slice(content);
    bytes
}

/// A message of text.
pub(crate) fn text_frame(text: &str) -> Vec<u8> {
    frame(Opcode::Text, text.as_bytes())
}

/// The end of a connection, with its status: 1000 is that all went well.
pub(crate) fn close_frame(status: u16) -> Vec<u8> {
    frame(Opcode::Close, &status.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_has_the_form_that_it_needs() {
        assert_eq!(text_frame("Hello"), b"\x81\x05Hello");
        assert_eq!(header(Opcode::Binary, 256), [0x82, 0x7E, 0x01, 0x00]);
        let long = [0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0];
        assert_eq!(header(Opcode::Binary, 65_536), long);
        assert_eq!(close_frame(1000), [0x88, 2, 0x03, 0xE8]);
    }
}
