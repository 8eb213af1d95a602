//! Frames that arrive from a client: payload is counted and passed over, whatever pieces it comes in.

use super::frame::Opcode;

/// Maximum length of a frame, bytes: that of ndt7.
const MAX_FRAME_BYTES: u64 = 1 << 24;
/// Maximum length of a frame that carries no payload, bytes. Source: RFC 6455, section 5.5.
const MAX_CONTROL_BYTES: u64 = 125;
/// The longest header: two bytes, eight of the length, four of the mask.
const MAX_HEADER_BYTES: usize = 14;

/// The reason why what arrives is no WebSocket of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClientFrameError {
    /// A client masks every frame.
    #[error("a frame of its WebSocket is not masked")]
    Unmasked,
    /// Reserved bits or kinds.
    #[error("a frame of its WebSocket is of an unknown kind")]
    Unknown,
    /// Longer than any that makes sense.
    #[error("a frame of its WebSocket is longer than {MAX_FRAME_BYTES} B")]
    TooLong,
    /// A ping or an end in several frames, or with much content.
    #[error("a control frame of its WebSocket is not allowed")]
    Control,
}

/// A frame that carries no payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ControlFrame {
    /// Its kind.
    pub(crate) opcode: Opcode,
    /// Its content.
    pub(crate) content: Vec<u8>,
}

/// Reads frames from pieces of a stream.
#[derive(Debug, Default)]
pub(crate) struct ClientFrameReader {
    header: Vec<u8>,
    /// The frame whose content arrives.
    current: Option<CurrentFrame>,
}

#[derive(Debug)]
struct CurrentFrame {
    opcode: Opcode,
    left: u64,
    mask: [u8; 4],
    /// The content so far, of a control frame.
    content: Vec<u8>,
}

impl ClientFrameReader {
    /// Takes the next piece: the payload in it, bytes; control frames that are complete with it go to `control`.
    ///
    /// # Errors
    /// When it is none of a client.
    pub(crate) fn take(
        &mut self,
        mut piece: &[u8],
        control: &mut Vec<ControlFrame>,
    ) -> Result<u64, ClientFrameError> {
        let mut payload = 0;
        loop {
            if let Some(current) = &mut self.current {
                let taken = usize::try_from(current.left)
                    .unwrap_or(usize::MAX)
                    .min(piece.len());
                let (front, rest) = piece.split_at(taken);
                piece = rest;
                current.left -= taken as u64;
                if current.opcode.is_control() {
                    current.content.extend_from_slice(front);
                } else {
                    payload += taken as u64;
                }
                if current.left > 0 {
                    return Ok(payload);
                }
                control.extend(self.current.take().and_then(CurrentFrame::into_control));
            }
            let Some((first, rest)) = piece.split_first() else {
                return Ok(payload);
            };
            piece = rest;
            self.header.push(*first);
            self.current = self.complete()?;
            if self.current.is_some() {
                self.header.clear();
            }
        }
    }

    /// The frame that the header describes; `None` while that is not complete.
    fn complete(&self) -> Result<Option<CurrentFrame>, ClientFrameError> {
        let [first, second, rest @ ..] = self.header.as_slice() else {
            return Ok(None);
        };
        let opcode = Opcode::decode(first & 0x0F).filter(|_| first & 0x70 == 0);
        let opcode = opcode.ok_or(ClientFrameError::Unknown)?;
        if second & 0x80 == 0 {
            return Err(ClientFrameError::Unmasked);
        }
        let (left, rest) = match second & 0x7F {
            126 => match rest.split_first_chunk() {
                Some((len, rest)) => (u64::from(u16::from_be_bytes(*len)), rest),
                None => return Ok(None),
            },
            127 => match rest.split_first_chunk() {
                Some((len, rest)) => (u64::from_be_bytes(*len), rest),
                None => return Ok(None),
            },
            short => (u64::from(short), rest),
        };
        if left > MAX_FRAME_BYTES {
            return Err(ClientFrameError::TooLong);
        }
        if opcode.is_control() && (left > MAX_CONTROL_BYTES || first & 0x80 == 0) {
            return Err(ClientFrameError::Control);
        }
        debug_assert!(self.header.len() <= MAX_HEADER_BYTES);
        Ok(rest.first_chunk().map(|mask| CurrentFrame {
            opcode,
            left,
            mask: *mask,
            content: Vec::new(),
        }))
    }
}

impl CurrentFrame {
    /// The whole frame, where it carries no payload.
    fn into_control(self) -> Option<ControlFrame> {
        let mask = self.mask.into_iter().cycle();
        self.opcode.is_control().then(|| ControlFrame {
            opcode: self.opcode,
            content: self
                .content
                .iter()
                .zip(mask)
                .map(|(byte, mask)| byte ^ mask)
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MASK: [u8; 4] = [1, 2, 3, 4];

    fn masked(first: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![first];
        match content.len() {
            len @ ..=125 => bytes.push(0x80 | len as u8),
            len => {
                bytes.push(0xFE);
                bytes.extend_from_slice(&(len as u16).to_be_bytes());
            }
        }
        bytes.extend_from_slice(&MASK);
        bytes.extend(content.iter().zip(MASK.iter().cycle()).map(|(a, b)| a ^ b));
        bytes
    }

    proptest! {
        #[test]
        fn payload_is_counted_whatever_pieces_it_comes_in(
            lens in prop::collection::vec(0_usize..3000, 1..10),
            cuts in prop::collection::vec(1_usize..700, 1..60),
        ) {
            let mut stream = Vec::new();
            for len in &lens {
                stream.extend(masked(0x82, &vec![9; *len]));
                stream.extend(masked(0x89, b"are you there"));
            }
            let (mut reader, mut control, mut payload) = (ClientFrameReader::default(), Vec::new(), 0);
            let mut rest = stream.as_slice();
            for cut in cuts.iter().cycle() {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                payload += reader.take(piece, &mut control).unwrap();
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(payload, lens.iter().sum::<usize>() as u64);
            prop_assert_eq!(control.len(), lens.len());
            prop_assert!(control.iter().all(|one| one.content == b"are you there"));
        }

        #[test]
        fn no_bytes_panic_or_are_kept(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let (mut reader, mut control) = (ClientFrameReader::default(), Vec::new());
            let _ = reader.take(&bytes, &mut control);
            prop_assert!(reader.header.len() <= MAX_HEADER_BYTES);
        }
    }

    #[test]
    fn what_no_client_sends_is_an_error() {
        let read = |bytes: &[u8]| ClientFrameReader::default().take(bytes, &mut Vec::new());
        assert_eq!(read(&[0x82, 0x05]), Err(ClientFrameError::Unmasked));
        assert_eq!(read(&[0xC2, 0x85]), Err(ClientFrameError::Unknown));
        assert_eq!(read(&[0x83, 0x85]), Err(ClientFrameError::Unknown));
        let endless = [0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(read(&endless), Err(ClientFrameError::TooLong));
        assert_eq!(read(&masked(0x09, b"x")), Err(ClientFrameError::Control));
        assert_eq!(
            read(&masked(0x88, &[0; 126])),
            Err(ClientFrameError::Control)
        );
    }
}
