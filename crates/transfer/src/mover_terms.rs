//! What a mover is given: what the ends have agreed on, and what its thread shares with the one that started it.

use super::certificate::SessionCertificate;
use super::digest_time::time_to_begin;
use caudal_core::plan::{Direction, TransferPlan};
use caudal_core::units::ByteCount;
use caudal_flow::TestLimit;
use caudal_wire::preamble::TestToken;
use std::sync::atomic::{AtomicBool, AtomicU64};
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

impl MoverTerms<'_> {
    /// The time that the other end has to begin, where it sends a content that takes longer than usual to read.
    pub(crate) fn time_to_begin(&self) -> Option<Duration> {
        let receives = self.is_client == (self.plan.direction == Direction::Down);
        let total = self.plan.content.bytes().map(ByteCount::get);
        time_to_begin(total).filter(|_| receives)
    }
}

/// What the thread that moves a content shares with the one that started it.
#[derive(Debug, Clone, Copy)]
pub struct MoverControl<'a> {
    /// Set to end the transfer early.
    pub stop: &'a AtomicBool,
    /// File bytes that were acknowledged or sent, or have arrived in order, without those that the receiver had before.
    pub bytes: &'a AtomicU64,
}
