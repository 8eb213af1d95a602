//! The errors of a test with a server of iperf3.

use caudal_core::event::CutShort;
use caudal_flow::RunError;
use caudal_wire::iperf3::Iperf3ErrorCode;
use caudal_wire::message::Refusal;

/// An error of a test with a server of iperf3.
#[derive(Debug, thiserror::Error)]
pub enum Iperf3Error {
    /// The server reports an error.
    #[error("the server refused: {0}")]
    Server(Iperf3ErrorCode),
    /// The server is busy.
    #[error("the server refused: {}", Iperf3ErrorCode::ACCESS_DENIED)]
    Denied,
    /// The server is being stopped.
    #[error("the server has been stopped")]
    ServerTerminated,
    /// The user ended the test.
    #[error("interrupted")]
    Interrupted,
    /// The server has closed the control connection.
    #[error("the server has closed the control connection")]
    Closed,
    /// The server sent a control byte that no version sends at that point.
    #[error("the server sent {0}, which is not expected in iperf3's protocol")]
    Unexpected(u8),
    /// Nothing was received for too long, s.
    #[error("nothing was received for {0} s")]
    Idle(u64),
    /// Any other error.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Iperf3Error {
    /// The reason why a test that ended in this error was cut short, as iperf3 words it where it has a text.
    pub(crate) fn cut_short(&self) -> CutShort {
        let lost = |code: Iperf3ErrorCode| CutShort::Lost(code.to_string().into());
        match self {
            Self::Interrupted => CutShort::Interrupted,
            Self::ServerTerminated => {
                CutShort::ByServer(Iperf3ErrorCode::SERVER_TERMINATED.to_string().into())
            }
            Self::Server(code) => lost(*code),
            Self::Denied => lost(Iperf3ErrorCode::ACCESS_DENIED),
            Self::Closed => lost(Iperf3ErrorCode::CONTROL_CLOSED),
            Self::Unexpected(_) => lost(Iperf3ErrorCode::MESSAGE),
            Self::Idle(_) => lost(Iperf3ErrorCode::NO_MESSAGE),
            Self::Run(error) => CutShort::Lost(error.to_string().into()),
        }
    }
}

impl From<Iperf3Error> for RunError {
    fn from(error: Iperf3Error) -> Self {
        let refused = |reason, code: Iperf3ErrorCode| Self::Refused {
            reason,
            message: code.to_string().into(),
        };
        match error {
            Iperf3Error::Run(error) => error,
            Iperf3Error::Server(code) => refused(Refusal::Other, code),
            Iperf3Error::Denied => refused(Refusal::Full, Iperf3ErrorCode::ACCESS_DENIED),
            Iperf3Error::ServerTerminated => {
                refused(Refusal::Stopping, Iperf3ErrorCode::SERVER_TERMINATED)
            }
            Iperf3Error::Interrupted => Self::Interrupted,
            Iperf3Error::Idle(seconds) => Self::Silent {
                waiting_for: "any data",
                seconds,
            },
            Iperf3Error::Closed => Self::Lost {
                doing: "waiting for it",
                cause: std::io::ErrorKind::ConnectionAborted.into(),
            },
            other @ Iperf3Error::Unexpected(_) => Self::Protocol(other.to_string().into()),
        }
    }
}
