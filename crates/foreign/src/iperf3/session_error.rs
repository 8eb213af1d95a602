//! The errors that end a session of a client of iperf3.

use caudal_engine::ClientRefusal;
use caudal_flow::{LimitReached, RunError};
use caudal_wire::iperf3::Iperf3ErrorCode;
use caudal_wire::message::Refusal;

/// An error that ends a session before its test is over.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// The client has left, or knows that the server is stopping.
    #[error("the client has left")]
    Left,
    /// The client receives a number; the log a text, where there is a better one.
    #[error("{}", .1.clone().unwrap_or_else(|| .0.to_string()))]
    Code(Iperf3ErrorCode, Option<String>),
    /// A limit of the server was reached.
    #[error(transparent)]
    Limit(LimitReached),
    /// Any other error.
    #[error(transparent)]
    Run(RunError),
}

impl SessionError {
    /// The kind of reason.
    fn refusal(&self) -> Refusal {
        match self {
            Self::Left => Refusal::Other,
            Self::Code(code, _) => refusal_of(*code),
            Self::Limit(_) => Refusal::Limit,
            Self::Run(error) => ClientRefusal::from(error).kind,
        }
    }

    /// The number for the client and the reason for the log; `None` where there is nobody to answer.
    pub(super) fn answer(&self) -> Option<(Iperf3ErrorCode, ClientRefusal)> {
        let code = match self {
            Self::Left => return None,
            Self::Code(code, _) => *code,
            Self::Limit(reached) => code_of(*reached),
            Self::Run(RunError::Silent { .. }) => Iperf3ErrorCode::NO_MESSAGE,
            Self::Run(RunError::Protocol(_)) => Iperf3ErrorCode::RECEIVE_MESSAGE,
            Self::Run(_) => Iperf3ErrorCode::INIT_TEST,
        };
        Some((code, ClientRefusal::new(self.refusal(), self.to_string())))
    }
}

/// The kind of reason for which a server of iperf3 sends a number.
fn refusal_of(code: Iperf3ErrorCode) -> Refusal {
    const LIMITS: [Iperf3ErrorCode; 3] = [
        Iperf3ErrorCode::MAX_DURATION,
        Iperf3ErrorCode::DURATION_EXPIRED,
        Iperf3ErrorCode::TOTAL_RATE,
    ];
    const PLANS: [Iperf3ErrorCode; 2] = [Iperf3ErrorCode::PROTOCOL, Iperf3ErrorCode::AFFINITY];
    const HOST: [Iperf3ErrorCode; 8] = [
        Iperf3ErrorCode::INIT_TEST,
        Iperf3ErrorCode::INIT_STREAM,
        Iperf3ErrorCode::SET_PACING,
        Iperf3ErrorCode::SET_TOS,
        Iperf3ErrorCode::SET_NO_DELAY,
        Iperf3ErrorCode::SET_BUFFERS,
        Iperf3ErrorCode::CONGESTION,
        Iperf3ErrorCode::DONT_FRAGMENT,
    ];
    match code {
        Iperf3ErrorCode::AUTHENTICATION => Refusal::Authentication,
        Iperf3ErrorCode::SERVER_TERMINATED => Refusal::Stopping,
        code if LIMITS.contains(&code) => Refusal::Limit,
        code if PLANS.contains(&code) => Refusal::Plan,
        code if HOST.contains(&code) => Refusal::Host,
        _ => Refusal::Protocol,
    }
}

/// The number for a limit of the server. That for the amount has no text of its own in iperf3.
const fn code_of(reached: LimitReached) -> Iperf3ErrorCode {
    match reached {
        LimitReached::Time => Iperf3ErrorCode::DURATION_EXPIRED,
        LimitReached::Rate(_) | LimitReached::Connections => Iperf3ErrorCode::TOTAL_RATE,
        LimitReached::Bytes(_) => Iperf3ErrorCode::SERVER_TERMINATED,
        LimitReached::Memory(_) => Iperf3ErrorCode::INIT_TEST,
    }
}

impl From<RunError> for SessionError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Lost { .. } => Self::Left,
            other => Self::Run(other),
        }
    }
}

impl From<Iperf3ErrorCode> for SessionError {
    fn from(code: Iperf3ErrorCode) -> Self {
        Self::Code(code, None)
    }
}
