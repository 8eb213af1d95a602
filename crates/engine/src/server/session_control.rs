//! The server's end of a control connection.

use super::state::ServerState;
use crate::peer::native::control::ControlChannel;
use caudal_core::text::ExternalText;
use caudal_flow::RunError;
use caudal_sys::clock::monotonic_ns;
use caudal_wire::message::{Refusal, ToClient, ToServer};
use std::net::Shutdown;
use std::os::fd::BorrowedFd;

/// The time in which the messages a refused client has already sent are read, ns.
const REFUSED_NS: u64 = 200_000_000;

/// The server's end of a control connection.
pub(super) struct SessionControl<'a> {
    pub(super) state: &'a ServerState,
    pub(super) channel: ControlChannel,
}

impl SessionControl<'_> {
    pub(super) fn send(&mut self, message: &ToClient) -> Result<(), RunError> {
        self.channel.send(message)
    }

    /// The next message that is neither a heartbeat nor a ping, which is answered here; `None` when none came before
    /// `until_ns`, or one of `others` became readable.
    pub(super) fn recv(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
    ) -> Result<Option<ToServer>, RunError> {
        let until_ns = until_ns.min(self.channel.heartbeat_due_ns());
        match self.channel.recv(until_ns, others)? {
            Some(ToServer::Ping { t1 }) => {
                let t2 = monotonic_ns() as i64;
                let t3 = monotonic_ns() as i64;
                self.send(&ToClient::Pong { t1, t2, t3 })?;
                Ok(None)
            }
            Some(ToServer::Alive) => Ok(None),
            other => Ok(other),
        }
    }

    /// Sends a heartbeat where one is due.
    pub(super) fn keep_alive(&mut self) -> Result<(), RunError> {
        if self.channel.is_heartbeat_due() {
            self.send(&ToClient::Alive)?;
        }
        Ok(())
    }

    /// Refuses the client when the server is being stopped.
    pub(super) fn check_stop(&mut self) -> Result<(), RunError> {
        if self.state.is_stopping() {
            let message = "the server is being stopped".to_owned();
            return Err(self.refuse(Refusal::Stopping, message));
        }
        Ok(())
    }

    /// Sends the client the reason why it is refused, and gives it as an error.
    pub(super) fn refuse(&mut self, reason: Refusal, message: impl Into<ExternalText>) -> RunError {
        let message = message.into();
        let _ = self.send(&ToClient::Refused {
            reason,
            message: message.clone(),
            instance: None,
        });
        let _ = self.channel.stream().shutdown(Shutdown::Write);
        // Reading what the client has already sent lets it read the reason instead of a reset.
        let until_ns = monotonic_ns() + REFUSED_NS;
        while monotonic_ns() < until_ns
            && matches!(self.channel.recv::<ToServer>(until_ns, &[]), Ok(Some(_)))
        {}
        RunError::Refused { reason, message }
    }
}
