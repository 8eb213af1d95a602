//! The refusal of a client by a server, whatever protocol it speaks.

use crate::admission::NotAdmitted;
use caudal_core::text::ExternalText;
use caudal_flow::{LimitReached, RunError};
use caudal_wire::message::Refusal;

/// The refusal of a client, or the error that ended its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRefusal {
    /// The kind of reason.
    pub kind: Refusal,
    /// The reason as text.
    pub message: ExternalText,
}

impl ClientRefusal {
    /// A refusal for a reason of this kind.
    pub fn new(kind: Refusal, message: impl Into<ExternalText>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The refusal of a client whose place was given to another.
    pub fn given_up(reason: String) -> Self {
        Self::new(Refusal::Full, reason)
    }

    /// The refusal because this machine did not grant what serving the client needs.
    pub fn host(error: impl std::fmt::Display) -> Self {
        Self::new(Refusal::Host, error.to_string())
    }

    /// The refusal because the client did not keep to its protocol.
    pub fn protocol(error: impl std::fmt::Display) -> Self {
        Self::new(Refusal::Protocol, error.to_string())
    }
}

impl From<NotAdmitted> for ClientRefusal {
    fn from(error: NotAdmitted) -> Self {
        let kind = match error {
            NotAdmitted::Address(_) => Refusal::Denied,
            NotAdmitted::NoPlace(_) => Refusal::Full,
            NotAdmitted::Memory(_) => Refusal::Limit,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<LimitReached> for ClientRefusal {
    fn from(reached: LimitReached) -> Self {
        Self::new(Refusal::Limit, reached.to_string())
    }
}

impl From<&RunError> for ClientRefusal {
    fn from(error: &RunError) -> Self {
        let kind = match error {
            RunError::Refused { reason, .. } => *reason,
            RunError::Version { .. } => Refusal::Version,
            RunError::Silent { .. } | RunError::Protocol(_) | RunError::Foreign { .. } => {
                Refusal::Protocol
            }
            RunError::Memory(_) => Refusal::Limit,
            RunError::Plan(_) | RunError::Acceptance(_) => Refusal::Plan,
            RunError::Unsupported { .. } => Refusal::Feature,
            RunError::Local { .. } | RunError::Forbidden { .. } | RunError::Descriptors { .. } => {
                Refusal::Host
            }
            _ => Refusal::Other,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<RunError> for ClientRefusal {
    fn from(error: RunError) -> Self {
        Self::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_kind_of_its_reason() {
        let address = NotAdmitted::Address("192.0.2.1".parse().unwrap());
        assert_eq!(ClientRefusal::from(address).kind, Refusal::Denied);
        let refused = RunError::Refused {
            reason: Refusal::Authentication,
            message: "no".into(),
        };
        assert_eq!(ClientRefusal::from(refused).kind, Refusal::Authentication);
    }
}
