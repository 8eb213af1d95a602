//! The account of datagrams: the number lost, and the loss location.

use crate::sequence::LossRuns;
use crate::warning::{Warning, WarningCode};
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

/// The datagrams that a sender's own kernel refused to send: their sequence numbers never left the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RefusedSends {
    /// All of them.
    pub refused: u64,
    /// Those that a firewall of the host refused.
    pub forbidden: u64,
}

impl RefusedSends {
    /// Who refused them, where a firewall did, such as ` (a firewall of this host)`; else nothing.
    #[must_use]
    pub fn by(self, host: &str) -> String {
        match self.forbidden {
            0 => String::new(),
            all if all >= self.refused => format!(" (a firewall of {host})"),
            some => format!(" ({some} by a firewall of {host})"),
        }
    }

    /// The warning about them, where there are any, in the test of `subject`, such as `upload`, sent by `host`.
    #[must_use]
    pub fn warning(self, subject: &str, host: &str) -> Option<Warning> {
        if self.refused == 0 {
            return None;
        }
        let by = self.by(host);
        let message = format!(
            "{subject}: refused by the sender's kernel: {}{by}",
            self.refused
        );
        let warning = Warning::new(WarningCode::SendRefused, message);
        Some(match self.forbidden {
            0 => warning,
            _ => warning.with_remedy(format!(
                "look for what drops it in the rules of {host}: `nft list ruleset`, `iptables -vnL OUTPUT`"
            )),
        })
    }
}

impl std::ops::AddAssign for RefusedSends {
    fn add_assign(&mut self, more: Self) {
        self.refused = self.refused.saturating_add(more.refused);
        self.forbidden = self.forbidden.saturating_add(more.forbidden);
    }
}

/// The places at which the lost datagrams of a direction were dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LossLocation {
    /// Refused by the sender's own kernel; absent where the sender does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_refused: Option<u64>,
    /// Of these, those that a firewall of the sender's host refused (`EPERM`); absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_forbidden: Option<u64>,
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
    /// Packets that the receiver's kernel dropped before its sockets, of all traffic of that host; absent where there are none, or too
    /// few to be what was lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver_host: Option<u64>,
    /// The rest, lost on the path or in the receiving host; an upper bound where a number before is a lower one. Absent where it
    /// cannot be distinguished from drops at the receiving socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<u64>,
    /// That rest where the receiver does not report its own drops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_or_socket: Option<u64>,
}

impl LossLocation {
    /// The datagrams that the sender's own kernel refused.
    #[must_use]
    pub fn refused(&self) -> RefusedSends {
        RefusedSends {
            refused: self.sender_refused.unwrap_or(0),
            forbidden: self.sender_forbidden.unwrap_or(0),
        }
    }
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
    /// The fraction lost, with Wilson's interval, or that of the cycles from one loss period to the next; null without a final account.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_firewall_of_the_sending_host_is_told_from_a_full_queue() {
        let warned = |refused, forbidden| {
            let refused = RefusedSends { refused, forbidden };
            let warning = refused.warning("upload", "this host")?;
            Some(warning.message.as_received().to_owned())
        };
        let said = |text: &str| Some(format!("upload: refused by the sender's kernel: {text}"));
        assert_eq!(warned(512, 512), said("512 (a firewall of this host)"));
        assert_eq!(
            warned(512, 500),
            said("512 (500 by a firewall of this host)")
        );
        assert_eq!(warned(512, 0), said("512"));
        assert_eq!(warned(0, 0), None);
    }
}
