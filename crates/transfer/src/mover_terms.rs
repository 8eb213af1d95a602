//! What the ends of a transfer have agreed on, as its mover needs it.

use super::certificate::SessionCertificate;
use caudal_core::plan::TransferPlan;
use caudal_flow::TestLimit;
use caudal_wire::preamble::TestToken;
use std::time::Duration;

/// What the ends of a transfer have agreed on, as its mover needs it.
#[derive(Debug, Clone, Copy)]
pub struct MoverTerms<'a> {
    /// The plan.
    pub plan: &'a TransferPlan,
    /// The token of the session, which both ends have and nobody else.
    pub token: TestToken,
    /// `true` at the client.
    pub is_client: bool,
    /// The certificate of the session, at the server of one over TLS or QUIC.
    pub certificate: Option<&'a SessionCertificate>,
    /// The time it took to connect, where this end has connected over TCP: the transfer's clock began before it.
    pub connect_time: Option<Duration>,
    /// The limits of the server, at the server.
    pub limit: Option<&'a TestLimit>,
}
