//! The account of datagrams: the number lost, and the loss location.

use crate::sequence::LossRuns;
use caudal_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A receiver's account of datagrams that cannot be true: it has more of them lost than there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "the report of the other end cannot be true: {lost} of {accounted} datagrams lost, of {sent} sent"
)]
pub struct ImplausibleLoss {
    /// Datagrams that the receiver accounts for, arrived or lost.
    pub accounted: u64,
    /// Of these, those lost.
    pub lost: u64,
    /// Datagrams that their sender counted; those accounted for where it did not report.
    pub sent: u64,
}

impl ImplausibleLoss {
    /// Compares a receiver's account with its sender's count: no more can be lost than were sent.
    ///
    /// # Errors
    /// When the account cannot be true.
    pub fn check(accounted: u64, lost: u64, sent: Option<u64>) -> Result<(), Self> {
        let sent = sent.unwrap_or(accounted);
        if lost <= accounted.min(sent) {
            return Ok(());
        }
        Err(Self {
            accounted,
            lost,
            sent,
        })
    }
}

/// The places at which the lost datagrams of a direction were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LossLocation {
    /// Refused by the sender's own kernel; absent where the sender does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_refused: Option<u64>,
    /// Dropped by the queueing discipline of the sender's interface, all traffic; null when it does not report drops.
    pub sender_qdisc: Option<u64>,
    /// `true` when that is a lower bound: the queueing discipline counts the datagrams of one send as one packet.
    pub sender_qdisc_at_least: bool,
    /// Dropped for a full buffer at the receiving socket; absent where the receiver does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_socket: Option<u64>,
    /// `true` when that is a lower bound: the kernel counts datagrams that it had joined as one.
    pub receiver_socket_at_least: bool,
    /// Dropped by the receiver's kernel because their checksum was wrong, all traffic: damaged on the path. Absent where the
    /// receiver does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<u64>,
    /// The rest, lost on the path; an upper bound where a number before is a lower one. Absent where it
    /// cannot be distinguished from drops at the receiving socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<u64>,
    /// That rest where the receiver does not report its own drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_or_socket: Option<u64>,
}

/// The account of datagrams over the whole test, its warm-up included. A log has the counts that it reports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Loss {
    /// `true` when every receiver gave its final account; without it what is missing cannot be distinguished from what
    /// was not yet read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub complete: Option<bool>,
    /// Datagrams sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Distinct datagrams that arrived in time; absent where the receiver did not report, or not what can be true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// Datagrams that did not arrive; absent as the count before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Datagrams that arrived again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<u64>,
    /// Datagrams that arrived after a later one (RFC 4737).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordered: Option<u64>,
    /// Datagrams that arrived after they had been given up: more than 65 473 behind the newest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late: Option<u64>,
    /// Datagrams with damaged content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<u64>,
    /// The fraction lost, with Wilson's interval; null without a final account.
    pub fraction: Option<Estimate>,
    /// Lengths of runs of consecutive losses; absent where the receiver did not note which were lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<LossRuns>,
    /// The loss location; absent in a log.
    #[serde(alias = "places", skip_serializing_if = "Option::is_none")]
    pub location: Option<LossLocation>,
}

impl Loss {
    /// `true` unless a receiver is known not to have given its final account.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete != Some(false)
    }
}
