//! The end of a session.

use super::frame::Reader;

/// The end of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fin {
    /// The size of the whole content, what the receiver had before included.
    pub(crate) total: u64,
    /// Its BLAKE3 digest.
    pub(crate) digest: [u8; 32],
    /// The sender's probe timeout, µs: how long answers may have to be repeated.
    pub(crate) pto_us: u32,
}

/// What a receiver has made of the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FinAckState {
    /// Every byte has arrived; the digest is being computed.
    Verifying,
    /// The digest is the sender's.
    Equal,
    /// The digest is not the sender's.
    Different,
}

/// The receiver's answer to a FIN, once every byte has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FinAck(pub(crate) FinAckState);

impl Fin {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.total.to_le_bytes());
        out.extend_from_slice(&self.digest);
        out.extend_from_slice(&self.pto_us.to_le_bytes());
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        Some(Self {
            total: reader.u64()?,
            digest: reader.array()?,
            pto_us: reader.u32()?,
        })
    }
}

impl FinAck {
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        out.push(match self.0 {
            FinAckState::Verifying => 0,
            FinAckState::Equal => 1,
            FinAckState::Different => 2,
        });
    }

    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        Some(Self(match Reader(body).u8()? {
            0 => FinAckState::Verifying,
            1 => FinAckState::Equal,
            2 => FinAckState::Different,
            _ => return None,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again_and_less_is_refused() {
        let fin = Fin {
            total: u64::MAX - 1,
            digest: [7; 32],
            pto_us: 12,
        };
        let mut body = Vec::new();
        fin.write(&mut body);
        assert_eq!(Fin::read(&body), Some(fin));
        assert_eq!(Fin::read(&body[..body.len() - 1]), None);
        for state in [
            FinAckState::Verifying,
            FinAckState::Equal,
            FinAckState::Different,
        ] {
            let mut body = Vec::new();
            FinAck(state).write(&mut body);
            assert_eq!(FinAck::read(&body), Some(FinAck(state)));
        }
        assert_eq!(FinAck::read(&[3]), None);
        assert_eq!(FinAck::read(&[]), None);
    }
}
