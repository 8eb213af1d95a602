//! How a session fails.

/// Why one end ended a session before it was complete, as its ABORT says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AbortCode {
    /// A person or the program around it stopped it.
    Stopped,
    /// The content could not be read, or changed while it was read.
    Source,
    /// The content could not be written.
    Sink,
    /// The other end broke the rules of the protocol.
    Protocol,
    /// The other end was silent for too long.
    TimedOut,
    /// Any other code, for which this version has no name.
    Other(u32),
}

impl AbortCode {
    /// The number on the wire.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Stopped => 0,
            Self::Source => 1,
            Self::Sink => 2,
            Self::Protocol => 3,
            Self::TimedOut => 4,
            Self::Other(number) => number,
        }
    }

    /// Appends the body of an ABORT.
    pub(crate) fn write(self, body: &mut Vec<u8>) {
        body.extend_from_slice(&self.number().to_le_bytes());
    }

    /// Reads the body of an ABORT; one that is too short is that of a stopped session.
    pub(crate) fn read(body: &[u8]) -> Self {
        body.get(..4)
            .and_then(|code| code.try_into().ok())
            .map_or(Self::Stopped, |code| {
                Self::from_number(u32::from_le_bytes(code))
            })
    }

    /// The code that has a number on the wire.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        match number {
            0 => Self::Stopped,
            1 => Self::Source,
            2 => Self::Sink,
            3 => Self::Protocol,
            4 => Self::TimedOut,
            _ => Self::Other(number),
        }
    }
}

impl std::fmt::Display for AbortCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stopped => f.write_str("it was stopped"),
            Self::Source => f.write_str("its content could not be read"),
            Self::Sink => f.write_str("its content could not be written"),
            Self::Protocol => f.write_str("the protocol was broken"),
            Self::TimedOut => f.write_str("nothing arrived for too long"),
            Self::Other(number) => write!(f, "code {number}"),
        }
    }
}

/// How a session fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// A field of the configuration is outside its limits.
    #[error("{0} of the transfer is outside its limits")]
    Config(&'static str),
    /// Nothing arrived from the other end for too long.
    #[error("the other end of the transfer did not answer for 30 s")]
    TimedOut,
    /// The other end answers, but nothing new of the content arrives: datagrams of this size may not pass.
    #[error(
        "nothing of the content arrived for 30 s although the other end answers: smaller packets may pass"
    )]
    Stalled,
    /// The other end ended the session.
    #[error("the other end ended the transfer: {0}")]
    PeerAborted(AbortCode),
    /// This end ended the session.
    #[error("the transfer was ended: {0}")]
    Aborted(AbortCode),
    /// A packet that was never sent was acknowledged.
    #[error("the receiver acknowledged a packet that was never sent")]
    UnsentAcknowledged,
    /// The receiver claims blocks that were never sent, or the sender contradicts itself about the size.
    #[error("the other end contradicts itself about {0}")]
    Contradiction(&'static str),
    /// The content has more blocks than a session can number.
    #[error("the content has more than 2^32 blocks of this packet size")]
    TooManyBlocks,
    /// The receiver's digest of the content is not the sender's.
    #[error("the digest of what arrived is not the sender's")]
    DigestMismatch,
    /// The responder refused the proposal.
    #[error("the other end refused the transfer: {0}")]
    Refused(AbortCode),
    /// The responder has no version in common.
    #[error("the other end speaks no version of RBT that this one does")]
    Version,
}
