//! The evidence about a flow.

use crate::timeline::MeasuredFlow;
use caudal_core::tcp_trace::TcpReading;

/// The part of the rate asked for that counts as reaching it.
pub const REACHED: f64 = 0.98;
/// Minimum share of the time that something limits a test to be its bottleneck.
pub(super) const MIN_SHARE: f64 = 0.2;

/// Minimum share of what a link can carry for the link to be full.
pub(crate) const FULL: f64 = 0.95;
/// Maximum share of what a link can carry: beyond it the link does not have the rate that was given.
pub(super) const MAX_FULL: f64 = 1.05;

/// `true` where nearly all that a link can carry arrived, and not more than that.
pub(super) fn is_full(ceiling_share: f64) -> bool {
    (FULL..=MAX_FULL).contains(&ceiling_share)
}

/// The evidence about one flow.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The flow over the measured part.
    pub measured: &'a MeasuredFlow,
    /// What its sender's kernel said over time; empty where that is not known (TCP).
    pub trace: &'a [TcpReading],
    /// Its congestion control (TCP).
    pub congestion: Option<&'a str>,
    /// The rate asked of it, bit/s.
    pub asked_bps: Option<u64>,
    /// `true` when socket buffers were set by hand.
    pub window_set: bool,
    /// `true` when all processors of a machine that both ends share were busy.
    pub machine_busy: bool,
    /// `true` for a flow over a loopback interface.
    pub is_loopback: bool,
    /// The share of the payload that the link can carry that arrived, over all flows; `None` where the link's rate is unknown.
    pub ceiling_share: Option<f64>,
    /// The payload that the link can carry, bit/s; `None` where its rate is unknown.
    pub ceiling_bps: Option<f64>,
    /// `true` where payload crossed in the other direction as well, whose queue the round trips pass too.
    pub both_directions: bool,
    /// `true` for a flow of datagrams.
    pub is_udp: bool,
}

/// The text of a share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
