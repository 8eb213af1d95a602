//! The parameters of a session: who sends them, and the limits of the server.

use super::session::{STEP_NS, ServerSession};
use super::session_error::SessionError;
use caudal_core::plan::{Plan, Rate};
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;
use caudal_flow::{LimitReached, PlannedEnd, RunError, TestLimit};
use caudal_sys::affinity;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_wire::iperf3::{
    ControlState, Iperf3ErrorCode, MAX_PARAMETERS_BYTES, Parameters, TransportProtocol,
};
use std::time::Duration;

/// Minimum time to the answer to a login, so that the time decrypting takes cannot be seen, ns.
const LOGIN_NS: u64 = 250_000_000;

impl ServerSession<'_> {
    /// Asks for the parameters, and checks who sends them.
    pub(super) fn receive_parameters(&mut self) -> Result<Parameters, SessionError> {
        self.control.send(&[ControlState::ParamExchange])?;
        let json = self
            .control
            .recv_json(
                MAX_PARAMETERS_BYTES,
                monotonic_ns() + STEP_NS,
                "the parameters",
                &[self.client.stop_fd()],
            )
            .map_err(|error| match error {
                RunError::Lost { .. } => SessionError::Left,
                other => {
                    SessionError::Code(Iperf3ErrorCode::RECEIVE_PARAMETERS, Some(other.to_string()))
                }
            })?;
        let parameters = Parameters::decode(&json)?;
        self.check_login(&parameters)?;
        if parameters.protocol == TransportProtocol::Sctp {
            return Err(Iperf3ErrorCode::PROTOCOL.into());
        }
        if let Some(cpu) = parameters.server_affinity
            && !affinity::available_cpus().contains(&(cpu as usize))
        {
            return Err(Iperf3ErrorCode::AFFINITY.into());
        }
        Ok(parameters)
    }

    fn check_login(&self, parameters: &Parameters) -> Result<(), SessionError> {
        let Some(check) = &self.state.options.login else {
            return Ok(());
        };
        let received_ns = monotonic_ns();
        let token = parameters
            .auth_token
            .as_ref()
            .map(ExternalText::as_received);
        let is_known = token.is_some_and(|token| (check.0)(token));
        sleep_until(received_ns + LOGIN_NS);
        if is_known {
            return Ok(());
        }
        let reason = match token {
            Some(_) => "its login is not one of those this server answers",
            None => "it brings no login, and this server requires one",
        };
        Err(SessionError::Code(
            Iperf3ErrorCode::AUTHENTICATION,
            Some(reason.to_owned()),
        ))
    }

    /// Checks the parameters against the server's limits, and sets the plan to them.
    pub(super) fn limit(
        &self,
        parameters: &Parameters,
        plan: &mut Plan,
    ) -> Result<(), SessionError> {
        if let Some(max_time) = self.client.limits().max_time {
            let total = u64::from(parameters.time_s) + u64::from(parameters.omit_s);
            let is_endless = parameters.time_s == 0;
            if parameters.end_bytes().is_none()
                && (is_endless || Duration::from_secs(total) > max_time)
            {
                return Err(Iperf3ErrorCode::MAX_DURATION.into());
            }
        }
        if let Some(max_bps) = self.max_rate() {
            let streams = u64::from(parameters.streams());
            let rate = parameters.rate_bps.max(parameters.fq_rate_bps.unwrap_or(0));
            if rate.saturating_mul(streams) > max_bps {
                return Err(Iperf3ErrorCode::TOTAL_RATE.into());
            }
            if self.is_flood(parameters) {
                return Err(Iperf3ErrorCode::TOTAL_RATE.into());
            }
            if let Some(bulk) = plan.bulk_mut().filter(|_| parameters.rate_bps == 0) {
                // Where this end sends, it keeps the limit itself.
                bulk.rate = Rate::Limit(BitRate::from_bps((max_bps / streams).max(1000)));
            }
        }
        if let (Some(max), Some(bytes)) = (self.client.limits().max_bytes, parameters.end_bytes())
            && bytes > max.get()
        {
            return Err(SessionError::Limit(LimitReached::Bytes(max)));
        }
        Ok(())
    }

    /// The limits of the running test.
    pub(super) fn test_limit(&self, parameters: &Parameters) -> TestLimit {
        let end = match parameters.end_bytes() {
            None => PlannedEnd::ByItself,
            Some(_) => PlannedEnd::Unknown,
        };
        TestLimit::new(self.client.limits(), end)
    }

    /// `true` for UDP without a rate that a server with a maximum would receive.
    fn is_flood(&self, parameters: &Parameters) -> bool {
        self.client.limits().max_rate.is_some()
            && parameters.protocol == TransportProtocol::Udp
            && parameters.rate_bps == 0
            && (!parameters.reverse || parameters.bidirectional)
    }
}
