//! The control connection of a client, on which its server may refuse at any time and its user may interrupt.

use super::control::{ControlInput, Iperf3Control};
use super::error::Iperf3Error;
use caudal_flow::{RunError, UserInterrupt};
use caudal_sys::clock::monotonic_ns;
use caudal_wire::iperf3::{ControlState, Iperf3ErrorCode, MAX_SERVER_RESULTS_BYTES, Results};
use std::os::fd::BorrowedFd;

/// The time a server may take for a step that costs it nothing, ns.
pub(super) const STEP_NS: u64 = 30_000_000_000;
/// The time the numbers of an error may take to arrive, ns.
const ERROR_NS: u64 = 2_000_000_000;

/// The control connection of a client.
pub(super) struct ClientControl {
    pub(super) connection: Iperf3Control,
    pub(super) interrupt: UserInterrupt,
}

impl ClientControl {
    /// The next state that is no refusal; `None` when the time is over or one of `others` became readable.
    pub(super) fn recv(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
    ) -> Result<Option<ControlState>, Iperf3Error> {
        let mut waiting = self.interrupt.fds();
        waiting.extend_from_slice(others);
        match self.connection.recv(until_ns, &waiting)? {
            ControlInput::Nothing if self.interrupt.is_set() => {
                let _ = self.connection.send(&[ControlState::ClientTerminate]);
                Err(Iperf3Error::Interrupted)
            }
            ControlInput::Nothing => Ok(None),
            ControlInput::State(ControlState::AccessDenied) => Err(Iperf3Error::Denied),
            ControlInput::State(ControlState::ServerTerminate) => {
                Err(Iperf3Error::ServerTerminated)
            }
            ControlInput::State(ControlState::ServerError) => {
                // Some versions send one number only, and then close.
                let numbers = self.connection.recv_bytes(8, monotonic_ns() + ERROR_NS);
                Err(Iperf3Error::Server(Iperf3ErrorCode::decode(&numbers)))
            }
            ControlInput::State(state) => Ok(Some(state)),
            ControlInput::Unknown(byte) => Err(Iperf3Error::Unexpected(byte)),
            ControlInput::Closed => Err(Iperf3Error::Closed),
        }
    }

    /// Checks that nothing was received; returns at `until_ns` at the latest, or when one of `others` became readable.
    pub(super) fn expect_nothing(
        &mut self,
        until_ns: u64,
        others: &[BorrowedFd<'_>],
    ) -> Result<(), Iperf3Error> {
        match self.recv(until_ns, others)? {
            None => Ok(()),
            Some(state) => Err(Iperf3Error::Unexpected(state.byte())),
        }
    }

    /// Waits for the state `due`.
    pub(super) fn await_state(
        &mut self,
        due: ControlState,
        patience_ns: u64,
    ) -> Result<(), Iperf3Error> {
        let until_ns = monotonic_ns() + patience_ns;
        loop {
            match self.recv(until_ns, &[])? {
                Some(state) if state == due => return Ok(()),
                Some(state) => return Err(Iperf3Error::Unexpected(state.byte())),
                None if monotonic_ns() >= until_ns => {
                    return Err(Iperf3Error::Run(RunError::Silent {
                        waiting_for: "the next step of the server",
                        seconds: patience_ns / 1_000_000_000,
                    }));
                }
                None => {}
            }
        }
    }

    /// Exchanges results with the server.
    pub(super) fn exchange_results(
        &mut self,
        own_results: &Results,
    ) -> Result<Results, Iperf3Error> {
        self.connection.send_json(&own_results.encode())?;
        let json = self.connection.recv_json(
            MAX_SERVER_RESULTS_BYTES,
            monotonic_ns() + 2 * STEP_NS,
            "the server's results",
            &self.interrupt.fds(),
        )?;
        let peer_results =
            Results::decode(&json).map_err(|error| RunError::Protocol(error.to_string().into()))?;
        Ok(peer_results)
    }
}
