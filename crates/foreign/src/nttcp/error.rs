//! The errors of a transfer.

use super::control::LineError;
use caudal_core::text::ExternalText;
use caudal_engine::ClientRefusal;
use caudal_flow::{LimitReached, RunError};
use caudal_wire::message::Refusal;
use caudal_wire::nttcp::RequestError;
use std::io;

/// An error of a transfer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NttcpError {
    /// The control connection failed.
    #[error(transparent)]
    Control(#[from] LineError),
    /// The line that asks for a transfer is none.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The line asks for something else than a transfer.
    #[error("it asks for something that is not done over a connection")]
    NoTransfer,
    /// The other end closed the control connection without naming a port.
    #[error("it named no port for data")]
    NoDataPort,
    /// The other end has no port for data.
    #[error("the other side has no port for data")]
    PeerHasNoPort,
    /// The other end named a port of a service.
    #[error("port {0} for data belongs to a service")]
    ServicePort(u16),
    /// The other end refused the transfer, with a reason.
    #[error("the other end refused: {0}")]
    Refused(ExternalText),
    /// The line does not name a port.
    #[error("a port for data was expected, not {0:?}")]
    UnexpectedLine(String),
    /// All ports are in use.
    #[error("no port for data is free")]
    NoFreePort,
    /// The other end left before it connected.
    #[error("no data connection was made before the end")]
    NoDataConnection,
    /// The other end did not connect in time, s.
    #[error("no data connection was made within {0} s")]
    DataConnectionSilent(u64),
    /// Nothing was received in time, s.
    #[error("nothing was received for {0} s")]
    Idle(u64),
    /// A limit of the server was reached.
    #[error(transparent)]
    Limit(LimitReached),
    /// The transfer was stopped from here.
    #[error("stopped")]
    Stopped,
    /// The flow failed.
    #[error("{0}")]
    Flow(ExternalText),
    /// The kernel reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Any other error.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<NttcpError> for ClientRefusal {
    fn from(error: NttcpError) -> Self {
        let kind = match &error {
            NttcpError::Limit(_) => Refusal::Limit,
            NttcpError::Stopped | NttcpError::Control(LineError::Stopped) => Refusal::Stopping,
            NttcpError::NoFreePort | NttcpError::Io(_) => Refusal::Host,
            NttcpError::Flow(_) => Refusal::Other,
            NttcpError::Run(error) => return Self::from(error),
            _ => Refusal::Protocol,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<NttcpError> for RunError {
    fn from(error: NttcpError) -> Self {
        match error {
            NttcpError::Run(error) => error,
            NttcpError::NoDataPort => {
                Self::Protocol("it closed the connection; is it nttcp?".into())
            }
            NttcpError::Stopped | NttcpError::Control(LineError::Stopped) => Self::Interrupted,
            other => Self::Protocol(other.to_string().into()),
        }
    }
}
